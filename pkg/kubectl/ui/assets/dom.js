// The only place that makes elements. Texts of clusters become text nodes, never markup.

// make returns an element with properties and children: elements, or texts. Attributes have a dash in their names or are among those
// below; everything else is a property.
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return element;
}

export const byId = (id) => document.getElementById(id);

// say replaces a text unless it is the same: a screen reader would say it again.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const kept = new WeakMap();

// keep replaces the children of an element unless they are the same. Key is a text that is the same when they are.
export function keep(element, key, children) {
  if (kept.get(element) === key) return;
  kept.set(element, key);
  element.replaceChildren(...children());
}

// focusIn remembers which element of a section has the focus, and returns a function that gives it back after the section was drawn
// anew: to the element with the same key, or the first of the section if there is none any more.
export function focusIn(section) {
  const focused = document.activeElement, key = focused?.dataset.key;
  if (!section.contains(focused)) return () => {};
  return () => ([...section.querySelectorAll("[data-key]")].find((e) => e.dataset.key === key) ?? section.querySelector("h2, button"))?.focus({ preventScroll: true });
}

// The only place that makes elements. Texts of clusters become text nodes, never markup.

// make returns an element with properties and children: elements, or texts. Attributes begin with a lower-case letter and a dash
// or are among those below; everything else is a property.
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

// focusIn remembers which element of a section has the focus, by its place among those that can have it, and returns a function that
// gives it back after the section was drawn anew.
export function focusIn(section) {
  const all = () => [...section.querySelectorAll("button, summary, a, code, [tabindex]")];
  const i = all().indexOf(document.activeElement);
  return () => { if (i >= 0) all()[i]?.focus({ preventScroll: true }); };
}

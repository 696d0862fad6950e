// The page: it follows the program's updates, and draws what view.js decides.
import { byId, focusIn, make, say } from "./dom.js";
import { showCluster, showRollouts } from "./panel.js";
import { apply, describe, emptyFleet, group, groupings, isSelector, legend, look, matching, step, summary } from "./view.js";

// Tiles of so many clusters have their names on them.
const mostNamed = 300;

// The program sends something every 10 s. After a silence of so many milliseconds the connection is taken for dead.
const silence = 25_000;

let fleet = emptyFleet();
let filter = "", grouping = "state", onlyState = "", selected = null;
let opened = "", answer = null; // the cluster whose panel is open, and what doctor found
let asking = false, soon; // whether doctor is asked, and the timer to ask again
let current = ""; // the cluster that the keyboard is on
const tiles = new Map(); // the tiles by the names of their clusters

function draw() {
  byId("totals").textContent = summary(fleet.totals);
  byId("problems").replaceChildren(...fleet.notRead.map((n) => make("p", {}, `Cannot read ${n.resource}: ${n.error}. What is shown of it is the last that was read.`)));
  drawLegend();
  drawGroupings();
  drawTiles();
  showRollouts(fleet.rollouts);
  drawPanel();
}

// keep replaces the children of an element unless they are the same. Key is a text that is the same when they are.
function keep(element, key, children) {
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.replaceChildren(...children());
}

function drawLegend() {
  const states = legend(fleet.totals);
  keep(byId("legend"), JSON.stringify([states, onlyState]), () => states.map(({ state, count, name, sign }) => {
    const button = make("button", { type: "button", className: `badge ${name}`, "aria-pressed": String(onlyState === state) },
      make("span", { "aria-hidden": "true" }, sign), ` ${state} `, make("strong", {}, String(count)));
    button.addEventListener("click", () => {
      onlyState = onlyState === state ? "" : state;
      draw();
      [...byId("legend").querySelectorAll("button")].find((b) => b.textContent.includes(` ${state} `))?.focus();
    });
    return make("li", {}, button);
  }));
}

function drawGroupings() {
  const all = groupings(fleet);
  keep(byId("group"), JSON.stringify(all), () => all.map(([value, text]) => make("option", { value, selected: value === grouping }, text)));
  if (!all.some(([value]) => value === grouping)) grouping = byId("group").value;
}

function tileOf(row, named) {
  const { name, sign } = look(row.state);
  const key = `${named} ${describe(row)}`;
  let tile = tiles.get(row.name);
  if (!tile) {
    tile = make("button", { type: "button", tabIndex: -1 });
    tile.dataset.cluster = row.name;
    tiles.set(row.name, tile);
  }
  if (tile.dataset.key !== key) {
    tile.dataset.key = key;
    tile.className = `tile ${name}`;
    tile.title = describe(row);
    tile.setAttribute("aria-label", describe(row));
    tile.replaceChildren(make("span", { "aria-hidden": "true" }, sign), ...(named ? [make("span", { className: "name" }, row.name)] : []));
  }
  return tile;
}

function drawTiles() {
  const rows = matching(fleet, filter, selected, onlyState);
  const groups = group(fleet, rows, grouping), named = rows.length <= mostNamed;
  const main = byId("fleet"), focused = document.activeElement?.dataset?.cluster;
  const sections = groups.map(({ title, rows }) => {
    const bad = rows.filter((r) => !r.well).length;
    const grid = make("div", { className: named ? "grid named" : "grid", role: "group", "aria-label": title }, ...rows.map((row) => tileOf(row, named)));
    return make("section", {}, make("h2", {}, title, make("span", { className: "number" }, ` ${rows.length}` + (bad ? `, ${bad} not well` : ""))), grid);
  });
  if (!sections.length && fleet.totals) sections.push(make("p", { className: "note" }, fleet.rows.size ? "No cluster matches." : "The hub has no cluster."));
  main.replaceChildren(...sections);
  for (const [name, tile] of tiles) if (!fleet.rows.has(name)) tiles.delete(name), tile.remove();
  // One tile is in the order of the Tab key; the arrow keys move from it.
  const shown = [...main.querySelectorAll(".tile")];
  if (!tiles.get(current)?.isConnected) current = shown[0]?.dataset.cluster ?? "";
  for (const tile of shown) tile.tabIndex = tile.dataset.cluster === current ? 0 : -1;
  if (focused && tiles.get(focused)?.isConnected) tiles.get(focused).focus({ preventScroll: true });
}

function move(event) {
  const from = event.target.closest(".tile");
  if (!from) return;
  const shown = [...byId("fleet").querySelectorAll(".tile")], i = shown.indexOf(from);
  const columns = getComputedStyle(from.parentElement).gridTemplateColumns.split(" ").length;
  const by = step(event.key, columns);
  if (!by) return;
  event.preventDefault();
  const to = shown[Math.min(shown.length - 1, Math.max(0, i + by))];
  tiles.get(current).tabIndex = -1;
  current = to.dataset.cluster;
  to.tabIndex = 0;
  to.focus();
}

function open(name) {
  opened = name;
  answer = null;
  drawPanel(true);
  byId("panel-title").focus();
  ask();
}

// ask asks doctor about the cluster whose panel is open, one question at a time.
async function ask() {
  const name = opened;
  if (asking || !name) return;
  asking = true;
  let found;
  try {
    const response = await fetch("cluster?name=" + encodeURIComponent(name));
    found = response.ok ? await response.json() : { error: await response.text() };
  } catch {
    found = { error: "kubectl helloworld ui does not answer" };
  }
  asking = false;
  if (opened !== name) return ask();
  answer = found;
  drawPanel(true);
}

// askSoon asks again after the cluster has changed: its findings are others then.
function askSoon() {
  clearTimeout(soon);
  soon = setTimeout(ask, 1000);
}

function close() {
  if (!opened) return;
  const tile = tiles.get(opened);
  opened = "";
  byId("panel").hidden = true;
  (tile?.isConnected ? tile : byId("fleet")).focus();
}

// drawPanel draws the cluster's panel anew if its row or its labels changed, or where forced: after an answer.
function drawPanel(forced) {
  if (!opened) return;
  const panel = byId("panel"), row = fleet.rows.get(opened), labels = fleet.labels.get(opened) ?? {};
  if (!row) return close();
  const key = JSON.stringify([row, labels]), changed = panel.dataset.key !== key;
  if (!forced && !changed) return;
  panel.dataset.key = key;
  const restore = focusIn(panel);
  showCluster(row, labels, answer, Date.now(), close);
  restore();
  if (!forced) askSoon();
}

async function select() {
  const asked = filter;
  byId("filter-error").textContent = "";
  if (!isSelector(asked)) {
    selected = null;
    return draw();
  }
  try {
    const response = await fetch("select?selector=" + encodeURIComponent(asked.trim()));
    if (asked !== filter) return;
    if (response.ok) selected = new Set(await response.json());
    else byId("filter-error").textContent = "The label selector is not valid: " + await response.text();
  } catch {
    byId("filter-error").textContent = "kubectl helloworld ui does not answer";
  }
  draw();
}

let typing;
byId("filter").addEventListener("input", (event) => {
  filter = event.target.value;
  clearTimeout(typing);
  typing = setTimeout(select, 150);
});
byId("group").addEventListener("change", (event) => {
  grouping = event.target.value;
  draw();
});
byId("fleet").addEventListener("click", (event) => {
  const tile = event.target.closest(".tile");
  if (tile) open(tile.dataset.cluster);
});
byId("fleet").addEventListener("keydown", move);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

let updates, quiet;

// listen waits for the next event. An EventSource does not notice a connection that is dead, for example behind a forwarded port.
function listen() {
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    say(byId("connection"), "not connected: kubectl helloworld ui does not answer, trying again");
    connect();
  }, silence);
}

function heard() {
  say(byId("connection"), "live");
  listen();
}

function connect() {
  updates?.close();
  updates = new EventSource("updates");
  listen();
  updates.onopen = heard;
  updates.addEventListener("alive", heard);
  updates.onmessage = (event) => {
    heard();
    const update = JSON.parse(event.data), relabelled = Object.keys(update.labels ?? {}).length > 0;
    fleet = apply(fleet, update);
    if (relabelled && isSelector(filter)) select();
    else draw();
    if (update.whole) requestAnimationFrame(() => setTimeout(() => performance.mark("drawn")));
  };
  updates.onerror = () => {
    const refused = updates.readyState === EventSource.CLOSED; // the browser does not try again
    if (refused) clearTimeout(quiet);
    say(byId("connection"), refused ? "not connected: kubectl helloworld ui was started again: open the URL that it printed"
      : "not connected: kubectl helloworld ui does not answer, trying again");
  };
}

connect();
draw();

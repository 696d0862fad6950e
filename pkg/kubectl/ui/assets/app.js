// The page: it follows the program's updates, and draws what view.js decides.
import { byId, focusIn, keep, make, say } from "./dom.js";
import { refreshAges, showCluster, showRollouts } from "./panel.js";
import { apply, describe, emptyFleet, group, groupings, isSelector, legend, look, matching, problem, step, summary } from "./view.js";

// Tiles of so many clusters have their names on them.
const mostNamed = 300;

// Times in milliseconds. The program sends something every 10 s: after a silence the connection is taken for dead. It answers a
// question about a cluster within 80 s.
const silence = 25_000, askTimeout = 90_000, selectTimeout = 10_000, agesEvery = 60_000;

let fleet = emptyFleet();
let filter = "", grouping = "state", onlyState = "", selected = null, selects = 0;
let opened = "", answer = null; // the cluster whose panel is open, and what doctor found
let question = null, soon; // what doctor is asked, and the timer to ask again
let shown = [], current = ""; // the clusters that have a tile on the page, and the one that the keyboard is on
const tiles = new Map(); // the tiles by the names of their clusters
const sections = new Map(); // the groups on the page by their titles

function draw() {
  say(byId("totals"), summary(fleet.totals, fleet.notRead));
  keep(byId("problems"), JSON.stringify(fleet.notRead), () => fleet.notRead.map((n) => make("p", {}, problem(n))));
  drawLegend();
  drawGroupings();
  drawTiles();
  showRollouts(fleet.rollouts);
  drawPanel();
}

function drawLegend() {
  const states = legend(fleet.totals, onlyState), restore = focusIn(byId("legend"));
  keep(byId("legend"), JSON.stringify([states, onlyState]), () => states.map(({ state, count, name, sign }) => {
    const button = make("button", { type: "button", className: `badge ${name}`, "aria-pressed": String(onlyState === state), "data-key": state },
      make("span", { "aria-hidden": "true" }, sign), ` ${state} `, make("strong", {}, String(count)));
    button.addEventListener("click", () => {
      onlyState = onlyState === state ? "" : state;
      draw();
    });
    return make("li", {}, button);
  }));
  restore();
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

// drawTiles draws the groups. A tile changes in its place: it is moved only where the group has other clusters, or another order.
function drawTiles() {
  const rows = matching(fleet, filter, selected, onlyState);
  const groups = group(fleet, rows, grouping), named = rows.length <= mostNamed;
  const main = byId("fleet"), focused = document.activeElement?.closest("#fleet .tile")?.dataset.cluster;
  for (const { title, rows } of groups) {
    if (!sections.has(title)) sections.set(title, sectionOf(title));
    const { number, grid } = sections.get(title), bad = rows.filter((r) => !r.well).length;
    say(number, ` ${rows.length}` + (bad ? `, ${bad} not well` : ""));
    grid.className = named ? "grid named" : "grid";
    const members = rows.map((row) => tileOf(row, named));
    keep(grid, JSON.stringify(rows.map((r) => r.name)), () => members);
  }
  const titles = groups.map((g) => g.title);
  for (const title of sections.keys()) if (!titles.includes(title)) sections.delete(title);
  const note = !titles.length && fleet.totals ? (fleet.rows.size ? "No cluster matches." : "The hub has no cluster.") : "";
  keep(main, JSON.stringify([titles, note]), () => note ? [make("p", { className: "note" }, note)] : titles.map((t) => sections.get(t).section));
  restoreFocus(groups.flatMap((g) => g.rows.map((r) => r.name)), focused);
  for (const name of tiles.keys()) if (!fleet.rows.has(name)) tiles.delete(name);
}

function sectionOf(title) {
  const number = make("span", { className: "number" }), grid = make("div", { role: "group", "aria-label": title });
  return { section: make("section", {}, make("h2", {}, title, number), grid), number, grid };
}

// restoreFocus gives the focus back to a tile that was moved, or to the next one where it is gone.
function restoreFocus(now, focused) {
  const before = shown, known = new Set(now);
  const next = (name) => {
    const i = before.indexOf(name);
    return known.has(name) ? name : [...before.slice(i + 1), ...before.slice(0, Math.max(0, i)).reverse()].find((n) => known.has(n)) ?? now[0] ?? "";
  };
  shown = now;
  setCurrent(next(current));
  if (focused) (tiles.get(next(focused)) ?? byId("fleet")).focus({ preventScroll: true });
}

// setCurrent puts one tile in the order of the Tab key; the arrow keys move from it.
function setCurrent(name) {
  if (tiles.has(current)) tiles.get(current).tabIndex = -1;
  current = name;
  if (tiles.has(current)) tiles.get(current).tabIndex = 0;
}

function move(event) {
  const from = event.target.closest(".tile");
  if (!from) return;
  const columns = getComputedStyle(from.parentElement).gridTemplateColumns.split(" ").length;
  const by = step(event.key, columns);
  if (!by) return;
  event.preventDefault();
  tiles.get(shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(from.dataset.cluster) + by))]).focus();
}

function open(name) {
  opened = name;
  answer = null;
  drawPanel(true);
  if (opened) byId("panel-title").focus();
  ask();
}

// ask asks doctor about the cluster whose panel is open. A question about another cluster is given up; where the cluster has changed
// since it was asked about, it is asked about once more.
async function ask() {
  if (!opened) return;
  if (question?.name === opened) {
    question.again = true;
    return;
  }
  question?.control.abort();
  const mine = question = { name: opened, again: false, control: new AbortController() };
  let found;
  try {
    const response = await fetch("cluster?name=" + encodeURIComponent(mine.name), { signal: AbortSignal.any([mine.control.signal, AbortSignal.timeout(askTimeout)]) });
    found = response.ok ? await response.json() : { error: await response.text() };
  } catch (error) {
    found = { error: noAnswer(error) };
  }
  if (question !== mine) return;
  question = null;
  answer = found;
  drawPanel(true);
  if (mine.again) ask();
}

// noAnswer tells why a request failed. A browser has six connections for all tabs of the page, and each tab keeps one.
function noAnswer(error) {
  return "kubectl helloworld ui does not answer" + (error.name === "TimeoutError" ? ", or this page is open in too many tabs: close some" : "");
}

// askSoon asks again after the cluster has changed: its findings are others then.
function askSoon() {
  clearTimeout(soon);
  soon = setTimeout(ask, 1000);
}

function close() {
  if (!opened) return;
  const panel = byId("panel"), tile = tiles.get(opened), inside = panel.contains(document.activeElement);
  clearTimeout(soon);
  question?.control.abort();
  question = null;
  opened = "";
  panel.hidden = true;
  if (inside) (tile?.isConnected ? tile : tiles.get(current) ?? byId("fleet")).focus();
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

// select asks which clusters the label selector selects.
async function select() {
  const asked = filter, mine = ++selects;
  let names = null, error = "";
  if (isSelector(asked)) {
    try {
      const response = await fetch("select?selector=" + encodeURIComponent(asked.trim()), { signal: AbortSignal.timeout(selectTimeout) });
      if (response.ok) names = new Set(await response.json());
      else error = "The label selector is not valid: " + await response.text();
    } catch (failed) {
      error = noAnswer(failed);
    }
  }
  if (mine !== selects) return; // another filter, or other labels, were asked for meanwhile
  selected = names;
  say(byId("filter-error"), error);
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
byId("fleet").addEventListener("focusin", (event) => {
  const tile = event.target.closest(".tile");
  if (tile) setCurrent(tile.dataset.cluster);
});
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
    draw();
    if (relabelled && isSelector(filter)) select();
    if (update.whole) requestAnimationFrame(() => setTimeout(() => performance.mark("drawn")));
  };
  updates.onerror = () => {
    const refused = updates.readyState === EventSource.CLOSED; // the browser does not try again
    if (refused) clearTimeout(quiet);
    say(byId("connection"), refused ? "not connected: kubectl helloworld ui was started again: open the URL that it printed"
      : "not connected: kubectl helloworld ui does not answer, trying again");
  };
}

setInterval(() => refreshAges(Date.now()), agesEvery);
connect();
draw();

// What the page shows, as functions from values to values. Nothing here touches the document or the network.

// Looks are what a state is drawn as: a class for the colour, and a sign for who does not see colours.
const looks = {
  good: { sign: "✓", states: ["Synced"] },
  passing: { sign: "↻", states: ["Starting", "Waiting", "Syncing", "Uninstalling"] },
  warning: { sign: "!", states: ["Conflict", "Contested", "DeletionHeld", "CertificateNotRenewed", "Failed"] },
  bad: { sign: "✕", states: ["NoManagedCluster", "ClusterUnavailable", "Refused", "CertificateExpired", "Degraded", "Unavailable"] },
  off: { sign: "–", states: ["NotEnabled"] },
  unknown: { sign: "?", states: ["Unknown"] },
};

// The states, worst first, as kubectl helloworld status has them.
const order = ["NoManagedCluster", "ClusterUnavailable", "Refused", "CertificateExpired", "Degraded", "Unavailable", "Failed", "DeletionHeld",
  "Conflict", "Contested", "CertificateNotRenewed", "Starting", "Waiting", "Syncing", "Unknown", "Uninstalling", "Synced", "NotEnabled"];

// look returns the class and the sign of a state. A newer program may have other states.
export function look(state) {
  for (const [name, { sign, states }] of Object.entries(looks)) {
    if (states.includes(state)) return { name, sign };
  }
  return { name: "unknown", sign: "?" };
}

export function rank(state) {
  const i = order.indexOf(state);
  return i < 0 ? order.length : i;
}

// emptyFleet is what a page knows before the first update.
export function emptyFleet() {
  return { time: null, rows: new Map(), labels: new Map(), totals: null, notRead: [], rollouts: { all: [], error: "" }, groups: [] };
}

// apply returns the fleet after an update of the program.
export function apply(fleet, update) {
  const known = update.whole ? emptyFleet() : fleet;
  const rows = new Map(known.rows), labels = new Map(known.labels);
  for (const row of update.clusters ?? []) rows.set(row.name, row);
  for (const [name, of] of Object.entries(update.labels ?? {})) labels.set(name, of ?? {});
  for (const name of update.gone ?? []) {
    rows.delete(name);
    labels.delete(name);
  }
  const rollouts = update.rollouts ? { all: update.rollouts.all ?? [], error: update.rollouts.error ?? "" } : known.rollouts;
  return { time: update.time, rows, labels, totals: update.totals, notRead: update.notRead ?? [], rollouts, groups: update.groups ?? known.groups };
}

// own returns a value of an object that was JSON, and not what every object of JavaScript has: a cluster or a label may be "constructor".
const own = (object, key) => (Object.hasOwn(object ?? {}, key) ? object[key] : undefined);

// isSelector reports whether a filter is a label selector. No name of a cluster has one of these characters or a space.
export function isSelector(filter) {
  return /[=!,()/\s]/.test(filter.trim());
}

// matching returns the rows that a filter leaves. Selected is the set of names that the label selector selects, or null.
export function matching(fleet, filter, selected, state) {
  const text = filter.trim().toLowerCase();
  return [...fleet.rows.values()].filter((row) =>
    (!state || row.state === state) &&
    (!text || (isSelector(filter) ? selected?.has(row.name) : row.name.toLowerCase().includes(text))));
}

const clusterSet = "cluster.open-cluster-management.io/clusterset";

// featureLabels is how the labels begin that OCM sets for each add-on.
export const featureLabels = "feature.open-cluster-management.io/";

// groupings returns by what the clusters can be grouped: [value, text]. OCM's labels of features are left out.
export function groupings(fleet) {
  const keys = new Set();
  for (const of of fleet.labels.values()) {
    for (const key of Object.keys(of)) if (key !== clusterSet && !key.startsWith(featureLabels)) keys.add(key);
  }
  return [["state", "state"], ["set", "cluster set"],
    ...fleet.groups.map((g) => ["placement:" + g.placement, "rollout group of Placement " + g.placement]),
    ...[...keys].sort().map((key) => ["label:" + key, "label " + key])];
}

// group returns the rows in groups, with a title each. The groups with the worst clusters come first, and so do these in a group.
export function group(fleet, rows, by) {
  const placement = by.startsWith("placement:") && fleet.groups.find((g) => "placement:" + g.placement === by);
  const titleOf = (row) => {
    const labels = fleet.labels.get(row.name) ?? {};
    if (by === "set") return own(labels, clusterSet) ?? "no cluster set";
    if (by.startsWith("label:")) return own(labels, by.slice("label:".length)) ?? "no such label";
    if (placement) return own(placement.groups, row.name) ?? "not selected";
    return row.state;
  };
  const groups = new Map();
  for (const row of rows) {
    const title = titleOf(row);
    if (!groups.has(title)) groups.set(title, []);
    groups.get(title).push(row);
  }
  const result = [...groups].map(([title, members]) => ({ title, rows: members.sort(compare) }));
  return result.sort((a, b) => rank(a.rows[0].state) - rank(b.rows[0].state) || compareText(a.title, b.title));
}

// compareText orders by code points: the order of a language depends on the browser, and costs a hundred times as much.
const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function compare(a, b) {
  return rank(a.state) - rank(b.state) || compareText(a.name, b.name);
}

// legend returns the states that clusters are in, and the chosen one, worst first, with their numbers.
export function legend(totals, chosen) {
  const states = totals?.states ?? {};
  return [...new Set([...Object.keys(states).filter((state) => states[state] > 0), ...(chosen ? [chosen] : [])])].sort((a, b) => rank(a) - rank(b))
    .map((state) => ({ state, count: own(states, state) ?? 0, ...look(state) }));
}

// summary returns the totals in a sentence. Nothing is said of what was never read.
export function summary(totals, notRead) {
  if (!totals) return "Reading the hub …";
  const { clusters, enabled, notWell, configMaps } = totals;
  const unread = (resource) => notRead.some((n) => n.resource === resource && !n.stale);
  const all = unread("ManagedClusters") ? `At least ${count(clusters, "cluster")}` : count(clusters, "cluster");
  if (unread("ManagedClusterAddOns")) return `${all}. Which of them have the add-on is not known.`;
  if (!enabled) return `${all}, none with the add-on`;
  const well = notWell ? `${count(notWell, "is", "are")} not well` : "all are well";
  return `${all}, ${enabled} with the add-on: ${well}. ${configMaps.synced} of ${count(configMaps.total, "ConfigMap")} synced.`;
}

// problem returns what cannot be read, in a sentence.
export function problem({ resource, error, stale }) {
  return `Cannot read ${resource}: ${error}.` + (stale ? " What is shown of it is the last that was read." : "");
}

export function count(n, one, several = one + "s") {
  return `${n} ${n === 1 ? one : several}`;
}

// describe returns what a screen reader says of a tile.
export function describe(row) {
  const maps = row.configMaps ? `, ${row.configMaps.synced} of ${row.configMaps.total} synced` : "";
  return `${row.name}: ${row.state}${maps}`;
}

// age returns how long ago a time was, as kubectl prints it. A hub whose clock is ahead is as good as now.
export function age(time, now) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  return span(seconds);
}

// until returns how long it takes until a time.
export function until(time, now) {
  const seconds = Math.round((Date.parse(time) - now) / 1000);
  return seconds < 0 ? `expired ${span(-seconds)} ago` : `in ${span(seconds)}`;
}

function span(seconds) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= 2 * size) return Math.floor(seconds / size) + unit;
  }
  return seconds + "s";
}

// Steps to the next tile for the keys that move in a grid with that many columns.
export function step(key, columns) {
  return { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -Infinity, End: Infinity }[key] ?? 0;
}

// The panels: a cluster, and the rollouts.
import { byId, focusIn, make } from "./dom.js";
import { age, count, featureLabels, look, until } from "./view.js";

const pages = "https://github.com/open-cluster-management-io/helloworld-addon/blob/main/";

function badge(state) {
  const { name, sign } = look(state);
  return make("span", { className: `badge ${name}` }, make("span", { "aria-hidden": "true" }, sign), " " + state);
}

function facts(pairs) {
  return make("dl", {}, ...pairs.filter(([, value]) => value).flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));
}

// when shows how long ago a time was, or how long it takes until then; refreshAges keeps it right.
const when = (time, now) => time && make("time", { dateTime: time, className: "age" }, age(time, now));
const expiry = (time, now) => make("time", { dateTime: time }, until(time, now));

// refreshAges shows in the cluster's panel how long ago its times are now.
export function refreshAges(now) {
  for (const t of byId("panel").querySelectorAll("time")) t.textContent = (t.className === "age" ? age : until)(t.dateTime, now);
}

// command shows a command with a button that copies it.
function command(text) {
  const button = make("button", { type: "button", className: "copy", "aria-label": "Copy the command", "data-key": "copy " + text }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it";
    }
  });
  return make("div", { className: "command" }, make("code", { tabIndex: 0, "data-key": "command " + text }, text), button);
}

function finding(f, opened) {
  return make("li", {},
    make("p", {}, make("strong", {}, f.reason), ": " + f.message),
    f.consequences ? make("details", { open: opened.has(f.reason), "data-reason": f.reason }, make("summary", { "data-key": "consequences " + f.reason }, count(f.consequences.length, "consequence")),
      make("ul", {}, ...f.consequences.map((c) => make("li", {}, make("strong", {}, c.reason), ": " + c.message)))) : null,
    ...(f.do ?? []).map((s) => make("div", { className: "step" }, make("p", {}, s.text), s.command ? command(s.command) : null)),
    f.page ? make("p", {}, make("a", { href: pages + f.page, "data-key": "page " + f.reason, target: "_blank", rel: "noreferrer noopener" }, "More about it")) : null);
}

function table(caption, heads, rows) {
  if (!rows?.length) return null;
  return make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((c) => make("td", {}, c))))));
}

// examined shows what doctor found. Opened are the reasons whose consequences a person looks at.
function examined(e, now, opened) {
  const notRead = (e.notRead ?? []).map((n) => make("p", { className: "note" }, `Not judged: cannot read ${n.resource}: ${n.error}`));
  return [
    make("h3", {}, "Doctor"), ...notRead,
    e.findings ? make("ol", { className: "findings" }, ...e.findings.map((f) => finding(f, opened))) : make("p", {}, "Nothing is wrong, as far as the hub tells."),
    table("Not in sync", ["ConfigMap", "State", "For", "Why"], e.notSynced?.map((c) => [c.name, c.state, when(c.since, now), c.message ?? ""])),
    table("Conditions", ["Condition", "Status", "For", "Message"], e.conditions?.map((c) => [c.type, `${c.status} (${c.reason})`, when(c.lastTransitionTime, now), c.message])),
    table("Events", ["Before", "Reason", "Object", "Message"], e.events?.slice(0, 20).map((v) => [when(v.time, now), v.reason, v.object, v.message])),
  ].filter((x) => x);
}

let shownCluster = ""; // the cluster that the panel was filled for

// showCluster fills the cluster's panel. Answer is what doctor found, an error, or null while it is asked.
export function showCluster(row, labels, answer, now, close) {
  const panel = byId("panel");
  const closeButton = make("button", { type: "button", className: "close", "aria-label": "Close the panel", "data-key": "close" }, "✕");
  closeButton.addEventListener("click", close);
  const opened = new Set(shownCluster === row.name ? [...panel.querySelectorAll("details[open]")].map((d) => d.dataset.reason) : []);
  shownCluster = row.name;
  const agent = row.agent && `${row.agent.version}${row.agent.running ? "" : " (not reported as running)"}`;
  const body = answer === null ? [make("p", { className: "note" }, "Asking the hub …")]
    : answer.error ? [make("p", { className: "error" }, answer.error)] : examined(answer, now, opened);
  panel.replaceChildren(
    make("div", { className: "panel-head" }, make("h2", { id: "panel-title", tabIndex: -1, "data-key": "title" }, row.name), closeButton),
    make("p", {}, badge(row.state), ...(row.since ? [" for ", when(row.since, now)] : [])),
    row.message ? make("p", { className: "message" }, row.message) : make("p", {}),
    facts([["ConfigMaps", row.configMaps && `${row.configMaps.synced} of ${row.configMaps.total} synced`], ["Available", row.available], ["Agent", agent],
      ["Credentials expire", row.credentialsExpire && expiry(row.credentialsExpire, now)],
      ["Labels", Object.entries(labels).map(([k, v]) => v ? `${k}=${v}` : k).filter((l) => !l.startsWith(featureLabels)).join("\n")]]),
    ...body);
  panel.hidden = false;
}

// bar shows which part of the clusters has the revision.
function bar(summary, title) {
  const total = Math.max(1, summary.total ?? 0), part = (n) => Math.round(100 * (n ?? 0) / total);
  const text = `${summary.synced ?? 0} of ${summary.total ?? 0} synced` + (summary.failed ? `, ${summary.failed} failed` : "") + (summary.timedOut ? `, ${summary.timedOut} timed out` : "");
  return make("div", { className: "bar" }, make("span", {}, title),
    make("progress", { max: 100, value: part(summary.synced), "aria-label": `${title}: ${text}` }), make("span", {}, text));
}

// How the states of a rollout are drawn: as these states of a cluster.
const states = { Done: "Synced", Waiting: "Syncing", Failed: "Failed" };

// showRollouts fills the rollouts' panel. What a person has opened or closed stays so.
export function showRollouts(rollouts) {
  const section = byId("rollouts"), key = JSON.stringify(rollouts.all) + rollouts.error;
  if (section.dataset.key === key) return;
  section.dataset.key = key;
  section.hidden = rollouts.all.length === 0 && !rollouts.error;
  const was = new Map([...section.querySelectorAll("details")].map((d) => [d.dataset.name, d]));
  const restore = focusIn(section);
  section.replaceChildren(make("h2", { id: "rollouts-title", tabIndex: -1 }, "Rollouts"),
    rollouts.error ? make("p", { className: "error" }, rollouts.error) : "",
    ...rollouts.all.map((r) => {
      const { name, sign } = look(states[r.state]), id = r.kind + r.name, before = was.get(id);
      const details = make("details", { open: before?.dataset.state === r.state ? before.open : r.state !== "Done" },
        make("summary", { "data-key": id }, make("span", { className: `badge ${name}` }, make("span", { "aria-hidden": "true" }, sign), " " + r.state), ` ${r.kind} ${r.name}`),
        make("p", { className: "message" }, r.message), r.warning ? make("p", { className: "note" }, r.warning) : "",
        r.summary ? bar(r.summary, "all clusters") : "",
        ...(r.steps ?? []).map((s) => bar(s.summary, `${s.placement}: ${s.group || "one group"}`)));
      details.dataset.name = id;
      details.dataset.state = r.state;
      return details;
    }));
  restore();
}

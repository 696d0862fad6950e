//go:build ui

package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// hold makes the page's requests whose URL begins with a text wait, until release lets one go on, by its number.
const hold = `(() => {
	const real = window.fetch;
	window.held = [];
	window.fetch = (url, options) => !String(url).startsWith("%s") ? real(url, options) :
		new Promise((go, fail) => {
			window.held.push({ url, options, release: () => go(real(url, options)) });
			options?.signal?.addEventListener("abort", () => fail(options.signal.reason));
		});
})()`

// mark remembers an element, and counts what changes below it.
const mark = `(() => {
	window.changes = [];
	new MutationObserver((all) => window.changes.push(...all.map((m) => m.target.id || m.target.className))).observe(document.body, { childList: true, subtree: true });
	window.blurs = 0;
	document.addEventListener("focusout", () => window.blurs++);
})()`

// script evaluates an expression for what it does.
func script(expression string) step { return chromedp.Evaluate[chromedp.Void](expression) }

// report writes what the agent of paris reports: a conflict, or that all is well, with a message.
func (h *hub) report(t *testing.T, cluster, status, reason, message string) {
	t.Helper()
	conditions := []any{condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "helloworld add-on is available."), condition("ConfigMapsSynced", status, reason, message)}
	if err := h.patch(t.Context(), addOns, cluster, addOnName, map[string]any{"status": map[string]any{"conditions": conditions}}, "status"); err != nil {
		t.Fatal(err)
	}
}

// live follows a person for whom the page changes meanwhile.
func live(chromium context.Context, t *testing.T, h *hub, url string, fresh func(*testing.T, ...*emulation.MediaFeature) *page) {
	const conflict = `1 conflict: "settings"`
	legend := func(state string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#legend button")].find((b) => b.dataset.key === %q)`, state)
	}
	t.Run("the last cluster leaves the state that is chosen", func(t *testing.T) {
		defer h.remove(t, "milan")
		h.putAll(t, []member{{name: "milan", total: 1, conditions: []any{condition("ConfigMapsSynced", "False", "Contested", "x")}}})
		p := open(chromium, t, url)
		p.await(t, `document.querySelector("[data-cluster=milan]")?.className === "tile warning"`)
		chosen := chromedp.Click(chromedp.Search(`//ul[@id="legend"]//button[contains(., "Contested")]`))
		p.do(t, chosen)
		p.await(t, tiles+` === "milan:warning"`)
		h.report(t, "milan", "True", "Synced", "x")
		p.await(t, tiles+` === ""`)
		p.await(t, `!!`+legend("Contested")+`?.innerText.includes("0") && document.activeElement === `+legend("Contested"))
		p.do(t, chosen)
		p.await(t, fmt.Sprintf(`document.querySelectorAll("#fleet .tile").length === %d && !%s`, small+1, legend("Contested")))
		h.remove(t, "milan")
		p.await(t, `!document.querySelector("[data-cluster=milan]")`)
		p.clean(t)
	})
	t.Run("a change while doctor is asked", func(t *testing.T) {
		p := fresh(t)
		p.do(t, script(fmt.Sprintf(hold, "cluster")), chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
		p.await(t, `held.length === 1`)
		h.report(t, "paris", "False", "Conflict", "another message")
		p.await(t, text("#panel")+`.includes("another message")`)
		p.await(t, `new Promise((done) => setTimeout(() => done(true), 1500))`) // it asks a second later
		p.do(t, script(`held[0].release()`))
		p.await(t, `held.length === 2 && document.querySelector("#panel .findings") !== null`)
		p.do(t, script(`held[1].release()`))
		h.report(t, "paris", "False", "Conflict", conflict)
		p.clean(t)
	})
	t.Run("a slow question does not hold up the next panel", func(t *testing.T) {
		p := fresh(t)
		p.do(t, script(fmt.Sprintf(hold, "cluster")), chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
		p.await(t, `held.length === 1`)
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=quito]`)))
		p.await(t, `held.length === 2 && held[0].options?.signal.aborted && !held[1].options.signal.aborted`)
		p.do(t, script(`held[1].release()`))
		p.await(t, text("#panel")+`.includes("Conditions") && document.getElementById("panel-title").innerText === "quito"`)
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)), chromedp.KeyEvent(kb.Escape))
		p.await(t, `held.length === 3 && held[2].options?.signal.aborted`)
		p.clean(t)
	})
	t.Run("tiles change in their places", func(t *testing.T) {
		p := fresh(t)
		p.do(t, chromedp.Focus(chromedp.CSS(`[data-cluster=paris]`)), script(mark))
		if err := h.patch(t.Context(), mirrors, "paris", addOnName, map[string]any{"status": map[string]any{"total": 13}}, "status"); err != nil {
			t.Fatal(err)
		}
		p.await(t, `document.querySelector("[data-cluster=paris]").title.includes("of 13")`)
		if got := evaluate[string](t, p, `changes.filter((c) => c !== "tile warning" && c !== "totals").join()`); got != "" {
			t.Errorf("more than a tile and the totals changed: %s", got)
		}
		if got := evaluate[string](t, p, `document.activeElement.dataset.cluster + blurs`); got != "paris0" {
			t.Errorf("the focus is at %q, want that it never left paris", got)
		}
		if err := h.patch(t.Context(), mirrors, "paris", addOnName, map[string]any{"status": map[string]any{"total": 12}}, "status"); err != nil {
			t.Fatal(err)
		}
		p.await(t, `document.querySelector("[data-cluster=paris]").title.includes("of 12")`)
		p.clean(t)
	})
	t.Run("the tile with the focus moves, and goes", func(t *testing.T) {
		p := fresh(t)
		defer h.remove(t, "milan")
		h.putAll(t, []member{{name: "milan", total: 1}})
		p.await(t, `!!document.querySelector("[data-cluster=milan]")`)
		p.do(t, chromedp.Focus(chromedp.CSS(`[data-cluster=milan]`)))
		h.report(t, "milan", "False", "Conflict", "x")
		p.await(t, `document.querySelector("[data-cluster=milan]").className === "tile warning" && document.activeElement.dataset.cluster === "milan"`)
		h.report(t, "milan", "True", "Synced", "x")
		p.await(t, `document.querySelector("[data-cluster=milan]").className === "tile good"`)
		h.remove(t, "milan")
		p.await(t, `!document.querySelector("[data-cluster=milan]")`)
		if got := evaluate[string](t, p, `document.activeElement.dataset.cluster + document.activeElement.tabIndex`); got != "oslo0" {
			t.Errorf("the focus is at %q, want the next tile, which the Tab key reaches", got)
		}
		p.clean(t)
	})
	t.Run("closing a panel leaves the focus elsewhere alone", func(t *testing.T) {
		p := fresh(t)
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)), chromedp.Focus(chromedp.CSS("#filter")), chromedp.KeyEvent(kb.Escape))
		if got := evaluate[string](t, p, `document.activeElement.id + document.getElementById("panel").hidden`); got != "filtertrue" {
			t.Errorf("got %q, want the focus in the filter, and no panel", got)
		}
		p.clean(t)
	})
	t.Run("answers to filters come in another order", func(t *testing.T) {
		p := fresh(t)
		typed := func(filter string) step {
			return script(fmt.Sprintf(`(() => { const f = document.getElementById("filter"); f.value = %q; f.dispatchEvent(new Event("input")) })()`, filter))
		}
		p.do(t, script(fmt.Sprintf(hold, "select")), typed("region in us"))
		p.await(t, `held.length === 1`)
		p.do(t, typed("region=us"))
		p.await(t, `held.length === 2`)
		p.do(t, script(`held[1].release()`))
		p.await(t, `document.querySelectorAll("#fleet .tile").length === 4`)
		p.do(t, script(`held[0].release()`))
		p.await(t, `new Promise((done) => setTimeout(() => done(true), 500))`)
		if got := evaluate[string](t, p, text("#filter-error")+`+ document.querySelectorAll("#fleet .tile").length`); got != "4" {
			t.Errorf("the answer to an earlier filter is shown: %q", got)
		}
		p.do(t, typed("region in us"))
		p.await(t, `held.length === 3`)
		p.do(t, script(`held[2].release()`))
		p.await(t, text("#filter-error")+` !== "" && document.querySelectorAll("#fleet .tile").length === 0`)
		p.reported(t, "status of 400") // of each of the two
		p.reported(t, "status of 400")
		p.clean(t)
	})
	t.Run("what a person looks at in a panel stays", func(t *testing.T) { panelStays(t, fresh(t)) })
	t.Run("functions", func(t *testing.T) { functions(t, fresh(t)) })
}

// panelStays draws a panel twice, the second time with another finding before the first one.
func panelStays(t *testing.T, p *page) {
	show := func(findings string) step {
		return script(`import(new URL("panel.js", location)).then(({ showCluster }) => import(new URL("dom.js", location)).then(({ byId, focusIn }) => {
			const restore = focusIn(byId("panel"));
			showCluster({ name: "paris", state: "Conflict", since: new Date(Date.now() - 7200e3).toJSON() }, { "feature.example.com/x": "y", "feature.open-cluster-management.io/addon-a": "b" },
				{ findings: ` + findings + ` }, Date.now(), () => {});
			restore();
			window.drawn = (window.drawn ?? 0) + 1;
		}))`)
	}
	const second = `{ reason: "Second", message: "", consequences: [{ reason: "Third", message: "" }], do: [{ text: "a", command: "kubectl two" }] }`
	p.do(t, show(`[`+second+`]`))
	p.await(t, `window.drawn === 1`)
	p.do(t, chromedp.Click(chromedp.CSS("#panel summary")), chromedp.Focus(chromedp.CSS("#panel .copy")))
	p.do(t, show(`[{ reason: "First", message: "", do: [{ text: "a", command: "kubectl one" }] }, `+second+`]`))
	p.await(t, `window.drawn === 2`)
	if got := evaluate[string](t, p, `document.activeElement.previousSibling?.innerText ?? document.activeElement.tagName`); got != "kubectl two" {
		t.Errorf("the focus is at the button of %q, want that of the same command", got)
	}
	if !evaluate[bool](t, p, `document.querySelector("#panel details").open`) {
		t.Error("the consequences that a person opened are closed")
	}
	if got := evaluate[string](t, p, text("#panel dl")); !strings.Contains(got, "feature.example.com/x=y") || strings.Contains(got, "addon-a") {
		t.Errorf("labels: %q, want those that are not OCM's of features", got)
	}
	p.clean(t)
}

// functions are cases of view.js that no hub of these tests has.
func functions(t *testing.T, p *page) {
	const fleet = `const fleet = { ...v.emptyFleet(), labels: new Map([["a", {}]]), groups: [{ placement: "x/y", groups: {} }] }, rows = [{ name: "constructor", state: "Synced" }];`
	const totals = `{ clusters: 5000, enabled: 0, notWell: 0, states: {} }`
	for _, test := range []struct{ name, expression, want string }{
		{"a label that every object of JavaScript has", fleet + `return v.group(fleet, [{ ...rows[0], name: "a" }], "label:constructor")[0].title`, "no such label"},
		{"a cluster of such a name", fleet + `return v.group(fleet, rows, "placement:x/y")[0].title`, "not selected"},
		{"no add-on", `return v.summary(` + totals + `, [])`, "5000 clusters, none with the add-on"},
		{"add-ons that could not be read", `return v.summary(` + totals + `, [{ resource: "ManagedClusterAddOns", error: "forbidden" }])`,
			"5000 clusters. Which of them have the add-on is not known."},
		{"add-ons that could be read before", `return v.summary(` + totals + `, [{ resource: "ManagedClusterAddOns", error: "forbidden", stale: true }])`,
			"5000 clusters, none with the add-on"},
		{"clusters that could not be read", `return v.summary({ clusters: 1, enabled: 1, notWell: 0, configMaps: { total: 1, synced: 1 } }, [{ resource: "ManagedClusters" }])`,
			"At least 1 cluster, 1 with the add-on: all are well. 1 of 1 ConfigMap synced."},
		{"never read", `return v.problem({ resource: "ManifestWorks", error: "forbidden" })`, "Cannot read ManifestWorks: forbidden."},
		{"read before", `return v.problem({ resource: "ManifestWorks", error: "forbidden", stale: true })`,
			"Cannot read ManifestWorks: forbidden. What is shown of it is the last that was read."},
		{"labels of a ManagedCluster that was deleted", `return JSON.stringify(v.apply({ ...v.emptyFleet(), labels: new Map([["a", { b: "c" }]]) }, { labels: { a: null } }).labels.get("a"))`, "{}"},
		{"groups that did not change", `return JSON.stringify(v.apply({ ...v.emptyFleet(), groups: [1] }, { rollouts: { all: [] } }).groups)`, "[1]"},
		{"groups that are gone", `return JSON.stringify(v.apply({ ...v.emptyFleet(), groups: [1] }, { groups: [] }).groups)`, "[]"},
	} {
		got := evaluate[string](t, p, `import(new URL("view.js", location)).then((v) => { `+test.expression+` })`)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	p.clean(t)
}

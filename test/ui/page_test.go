//go:build ui

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// browser starts a browser without a window. evil.example is this machine, as for a page that rebinds its name by DNS.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.Flag("font-render-hinting", "none"))
	allocated, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

const small = 12 // clusters of smallFleet

// TestPage follows a person through the page.
func TestPage(t *testing.T) {
	h := newHub(t, os.Getenv("HUB_KUBECONFIG"))
	h.putAll(t, smallFleet())
	h.rollouts(t)
	chromium := browser(t)
	url, _ := serve(t, h.kubeconfig)
	fresh := func(t *testing.T, features ...*emulation.MediaFeature) *page {
		p := open(chromium, t, url, features...)
		p.await(t, fmt.Sprintf(`document.querySelectorAll("#fleet .tile").length === %d`, small))
		return p
	}
	t.Run("states, worst first", func(t *testing.T) {
		p := fresh(t)
		want := "boston:bad staging-2:bad staging-4:bad denver:bad quito:warning paris:warning staging-1:passing " +
			"austin:good berlin:good lisbon:good oslo:good staging-3:off"
		if diff := cmp.Diff(want, evaluate[string](t, p, tiles)); diff != "" {
			t.Errorf("tiles (-want +got):\n%s", diff)
		}
		if got, want := evaluate[string](t, p, text("#totals")), "12 clusters, 11 with the add-on: 7 are not well."; !strings.HasPrefix(got, want) {
			t.Errorf("totals: %q, want %q", got, want)
		}
		if got := evaluate[string](t, p, `document.querySelector("[data-cluster=paris]").getAttribute("aria-label")`); got != "paris: Conflict, 11 of 12 synced" {
			t.Errorf("a screen reader says %q", got)
		}
		p.clean(t)
	})
	// Soon, since doctor finds more on an add-on that is enabled for a minute.
	t.Run("pictures", func(t *testing.T) { pictures(t, fresh) })
	t.Run("a change is shown", func(t *testing.T) {
		p := fresh(t)
		h.putAll(t, []member{{name: "zurich", clusterSet: "europe", total: 1}})
		p.await(t, `document.querySelector("[data-cluster=zurich]")?.className === "tile good"`)
		degraded := map[string]any{"status": map[string]any{"conditions": []any{condition("Degraded", "True", "PodsNotReady", "no pod")}}}
		if err := h.patch(t.Context(), addOns, "zurich", addOnName, degraded, "status"); err != nil {
			t.Fatal(err)
		}
		p.await(t, `document.querySelector("[data-cluster=zurich]")?.className === "tile bad"`)
		h.remove(t, "zurich")
		p.await(t, `!document.querySelector("[data-cluster=zurich]")`)
		p.clean(t)
	})
	t.Run("filter", func(t *testing.T) {
		for _, test := range []struct{ typed, want string }{
			{"S", "boston staging-2 staging-4 staging-1 paris austin lisbon oslo staging-3"},
			{"region in (us), stage!=test", "boston denver quito austin"},
			{"region=eu", "paris berlin lisbon oslo"},
			{"!region", "staging-2 staging-4 staging-1 staging-3"},
		} {
			p := fresh(t)
			p.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), test.typed))
			names := `[...document.querySelectorAll("#fleet .tile")].map((t) => t.dataset.cluster).sort().join(" ")`
			want := strings.Fields(test.want)
			p.await(t, fmt.Sprintf(`%s === %q.split(" ").sort().join(" ")`, names, strings.Join(want, " ")))
		}
		p := fresh(t)
		p.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "region in eu"))
		p.await(t, text("#filter-error")+`.startsWith("The label selector is not valid: ")`)
		p.reported(t, "status of 400")
		p.do(t, chromedp.Evaluate[chromedp.Void](`(() => { const f = document.getElementById("filter"); f.value = ""; f.dispatchEvent(new Event("input")) })()`))
		p.await(t, text("#filter-error")+` === ""`)
		p.do(t, chromedp.Click(chromedp.Search(`//ul[@id="legend"]//button[contains(., "Conflict")]`)))
		p.await(t, tiles+` === "paris:warning"`)
		p.do(t, chromedp.Click(chromedp.Search(`//ul[@id="legend"]//button[contains(., "Conflict")]`)))
		p.clean(t)
	})
	t.Run("groups", func(t *testing.T) {
		p := fresh(t)
		for by, want := range map[string]string{
			"set":                   "americas 4, 3 not well|no cluster set 4, 3 not well|europe 4, 1 not well",
			"label:region":          "us 4, 3 not well|no such label 4, 3 not well|eu 4, 1 not well",
			"placement:default/all": "not selected 9, 7 not well|canary 1|rest 2",
		} {
			p.do(t, chromedp.SetValue(chromedp.CSS("#group"), by), chromedp.Evaluate[chromedp.Void](`document.getElementById("group").dispatchEvent(new Event("change"))`))
			headings := evaluate[string](t, p, `[...document.querySelectorAll("#fleet h2")].map((h) => h.textContent).join("|")`)
			if headings != want {
				t.Errorf("by %s: %q, want %q", by, headings, want)
			}
		}
		p.clean(t)
	})
	t.Run("the panel of a cluster", func(t *testing.T) {
		p := fresh(t)
		h.event(t, "paris")
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
		p.await(t, text("#panel")+`.includes("belongs to somebody else")`)
		for _, want := range []string{"Conflict for 3d", "11 of 12 synced", "Doctor", "Not in sync", "region=eu", "Conditions", "CopyRefused", "somebody was here"} {
			if got := evaluate[string](t, p, text("#panel")); !strings.Contains(got, want) {
				t.Errorf("the panel has no %q:\n%s", want, got)
			}
		}
		p.do(t, chromedp.KeyEvent(kb.Escape))
		p.await(t, `document.getElementById("panel").hidden && document.activeElement.dataset.cluster === "paris"`)
		p.clean(t)
	})
	t.Run("rollouts", func(t *testing.T) {
		p := fresh(t)
		p.await(t, text("#rollouts")+`.includes("canary")`)
		for _, want := range []string{"ConfigMapReplicaSet default/settings", "waits for 1 cluster of the group canary", "1 of 3 synced", "all: canary", "all: rest"} {
			if got := evaluate[string](t, p, text("#rollouts")); !strings.Contains(got, want) {
				t.Errorf("the rollouts have no %q:\n%s", want, got)
			}
		}
		p.do(t, chromedp.Click(chromedp.CSS("#rollouts summary")))
		h.putAll(t, []member{{name: "zurich", total: 1}})
		p.await(t, `!!document.querySelector("[data-cluster=zurich]")`)
		if evaluate[bool](t, p, `document.querySelector("#rollouts details").open`) {
			t.Error("an update has opened what a person has closed")
		}
		h.remove(t, "zurich")
		p.await(t, `!document.querySelector("[data-cluster=zurich]")`)
		p.clean(t)
	})
	t.Run("keyboard", func(t *testing.T) {
		p := fresh(t)
		focused := func() string { return evaluate[string](t, p, `document.activeElement.dataset.cluster ?? ""`) }
		p.do(t, chromedp.Focus(chromedp.CSS(`[data-cluster=boston]`)), chromedp.KeyEvent(kb.ArrowRight))
		if got := focused(); got != "staging-2" {
			t.Errorf("the arrow key went to %q, want the next tile", got)
		}
		p.do(t, chromedp.KeyEvent(kb.End))
		if got := focused(); got != "staging-3" {
			t.Errorf("End went to %q, want the last tile", got)
		}
		p.do(t, chromedp.KeyEvent(kb.Home))
		if got := focused(); got != "boston" {
			t.Errorf("Home went to %q, want the first tile", got)
		}
		p.do(t, chromedp.KeyEvent(kb.Enter))
		p.await(t, `document.activeElement.id === "panel-title"`)
		p.await(t, text("#panel")+`.includes("Conditions")`)
		if got := evaluate[string](t, p, `document.activeElement.id`); got != "panel-title" {
			t.Errorf("the answer took the focus away, to %q", got)
		}
		p.do(t, chromedp.KeyEvent(kb.Escape))
		if got := focused(); got != "boston" {
			t.Errorf("Escape went to %q, want back to the tile", got)
		}
		if stops := evaluate[int](t, p, `document.querySelectorAll('#fleet .tile[tabindex="0"]').length`); stops != 1 {
			t.Errorf("the Tab key stops at %d tiles, want 1", stops)
		}
		p.clean(t)
	})
	t.Run("accessibility", func(t *testing.T) {
		axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"light", "dark"} {
			p := fresh(t, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme})
			p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
			p.await(t, text("#panel")+`.includes("Conditions")`)
			// The policy of the page refuses a script in its text, and the debugger's goes around it.
			p.do(t, chromedp.Evaluate[chromedp.Void](string(axe)))
			found := evaluate[string](t, p, `axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target + " " + n.failureSummary).join("; ")).join("\n"))`)
			checks := evaluate[int](t, p, `axe.run().then((r) => r.passes.length)`)
			if found != "" || checks < 20 {
				t.Errorf("%s: %d checks passed, and these failed:\n%s", scheme, checks, found)
			}
			t.Logf("%s: %d checks of axe-core passed", scheme, checks)
		}
	})
	t.Run("texts of clusters are no markup", func(t *testing.T) {
		p := fresh(t)
		hostile := `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
		h.putAll(t, []member{{name: "hostile", total: 1, labels: map[string]string{"hostile": "javascript"},
			conditions: []any{condition("ConfigMapsSynced", "False", "Failed", hostile)}, notSynced: []any{notSynced("settings", "Failed", hostile)}}})
		p.await(t, `!!document.querySelector("[data-cluster=hostile]")`)
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=hostile]`)))
		p.await(t, text("#panel")+`.includes("Conditions")`)
		if !evaluate[bool](t, p, text("#panel")+`.includes("<img src=x")`) {
			t.Error("the panel does not show the message as it is")
		}
		if evaluate[bool](t, p, `window.hacked === 1 || document.querySelectorAll("img").length > 0`) {
			t.Error("a message of a cluster ran as a script")
		}
		// the policy refuses it even where the page's code would not
		if evaluate[bool](t, p, `(() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return true } catch { return false } })()`) {
			t.Error("the policy lets text become markup")
		}
		p.reported(t, "requires 'TrustedHTML' assignment")
		h.remove(t, "hostile")
		p.await(t, `!document.querySelector("[data-cluster=hostile]")`)
		p.clean(t)
	})
	live(chromium, t, h, url, fresh)
	t.Run("other pages", func(t *testing.T) { otherPages(chromium, t, url) })
	t.Run("the hub goes away and comes back", func(t *testing.T) {
		p := fresh(t)
		sandbox(t, "stop", "hub/kube-apiserver")
		p.await(t, text("#problems")+`.includes("Cannot read")`)
		if got := evaluate[int](t, p, `document.querySelectorAll("#fleet .tile").length`); got != small {
			t.Errorf("%d tiles are left, want the last that were read: %d", got, small)
		}
		p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
		p.await(t, `!!document.querySelector("#panel .error") || `+text("#panel")+`.includes("Not judged")`)
		sandbox(t, "start", "hub/kube-apiserver")
		p.await(t, text("#problems")+` === ""`)
	})
}

// TestConnection: a page says so when its program has ended, was started again, or is silent, and goes on when it can.
func TestConnection(t *testing.T) {
	chromium := browser(t)
	url, program := serve(t, os.Getenv("HUB_KUBECONFIG"))
	p := open(chromium, t, url)
	p.await(t, text("#connection")+` === "live"`)
	if err := program.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.await(t, text("#connection")+`.endsWith("trying again")`)
	if err := program.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.await(t, text("#connection")+` === "live"`)
	if err := program.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.await(t, text("#connection")+`.endsWith("trying again")`)
	parsed, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, os.Getenv("HUB_KUBECONFIG"), "--port="+parsed.Port())
	p.await(t, text("#connection")+`.endsWith("open the URL that it printed")`)
}

// TestAges: what a panel says of times does not stand still. The page's minute is a second here.
func TestAges(t *testing.T) {
	h := newHub(t, os.Getenv("HUB_KUBECONFIG"))
	h.putAll(t, smallFleet())
	url, _ := serve(t, h.kubeconfig)
	p := openAfter(browser(t), t, `(() => { const real = setInterval; window.setInterval = (f, ms) => real(f, ms / 60) })()`, url)
	p.await(t, `!!document.querySelector("[data-cluster=paris]")`)
	p.do(t, chromedp.Click(chromedp.CSS(`[data-cluster=paris]`)))
	p.await(t, text("#panel")+`.includes("Conditions")`)
	p.do(t, script(`getSelection().selectAllChildren(document.querySelector("#panel code"))`),
		script(`(() => { const real = Date.now; Date.now = () => real() + 86400e3 })()`))
	p.await(t, text("#panel")+`.includes("Conflict for 4d") && `+text("#panel table")+`.includes("4d") && getSelection().toString() !== ""`)
	p.clean(t)
}

// otherPages: pages of other origins, and names that DNS rebinds, get nothing. The browser keeps the answer from such a page by its
// own rules, for example https://fetch.spec.whatwg.org/#cors-check. The program does not rely on them: it refuses the request, so
// the answer, which the debugger sees, has nothing either.
func otherPages(chromium context.Context, t *testing.T, url string) {
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>evil</title><link rel=icon href=data:,><a href='"+url+"'>link</a>")
	}))
	defer evil.Close()
	for _, from := range []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "evil.example", 1)} {
		p := open(chromium, t, from)
		p.await(t, `document.title === "evil"`)
		for _, try := range []struct{ name, path, script string }{
			{"fetch", "updates", `fetch(URL).then((r) => r.text()).catch(() => "refused")`},
			{"fetch, no cors", "cluster?name=paris", `fetch(URL, {mode: "no-cors"}).then((r) => r.status === 0 ? "refused" : r.text()).catch(() => "refused")`},
			{"script", "app.js", `new Promise((done) => { const s = document.createElement("script"); s.src = URL; s.onload = () => done("loaded"); s.onerror = () => done("refused"); document.head.append(s) })`},
			{"events", "updates", `new Promise((done) => { const e = new EventSource(URL); e.onmessage = (m) => done(m.data); e.onerror = () => { e.close(); done("refused") } })`},
			{"frame", "", `new Promise((done) => { const f = document.createElement("iframe"); f.src = URL; f.onload = () => { try { done(f.contentDocument.body.innerText || "refused") } catch { done("refused") } }; document.body.append(f) })`},
		} {
			asked := url + try.path
			quoted, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			before := len(p.answers.of(asked))
			if got := evaluate[string](t, p, strings.ReplaceAll(try.script, "URL", string(quoted))); got != "refused" {
				t.Errorf("%s from %s: %q", try.name, from, got)
			}
			codes := p.answers.of(asked)
			for deadline := time.Now().Add(patience); len(codes) == before && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				codes = p.answers.of(asked)
			}
			if len(codes) == before || slices.ContainsFunc(codes, func(code int64) bool { return code != http.StatusForbidden }) {
				t.Errorf("%s from %s: the program answered %d, want %d", try.name, from, codes, http.StatusForbidden)
			}
		}
		// a person may follow a link, for example in a terminal that is a web page
		p.do(t, chromedp.Click(chromedp.CSS("a")))
		p.await(t, `document.querySelectorAll("#fleet .tile").length > 0 && window.opener === null`)
	}
	rebound := open(chromium, t, strings.Replace(url, "127.0.0.1", "evil.example", 1))
	rebound.await(t, `document.body.innerText.includes("has no other name")`)
	guessed := open(chromium, t, url[:strings.LastIndex(strings.TrimSuffix(url, "/"), "/")]+"/guessed/")
	guessed.await(t, `document.body.innerText.includes("not found")`)
}

// sandbox runs a command of ocm-sandbox.
func sandbox(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, os.Getenv("OCM_SANDBOX"), append([]string{"--dir=" + os.Getenv("SANDBOX")}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("ocm-sandbox %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// event writes an event about a ConfigMap of the cluster.
func (h *hub) event(t *testing.T, cluster string) {
	t.Helper()
	now := metav1.Now().UTC().Format(time.RFC3339)
	e := object(events, "Event", cluster, "settings.1", map[string]any{
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": cluster, "name": "settings"},
		"type":           "Warning", "reason": "CopyRefused", "message": "somebody was here", "firstTimestamp": now, "lastTimestamp": now, "count": 1,
		"source": map[string]any{"component": "helloworld-agent"},
	})
	if err := h.create(t.Context(), events, e, nil); err != nil {
		t.Fatal(err)
	}
}

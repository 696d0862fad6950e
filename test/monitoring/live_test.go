//go:build sandbox

package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// clusters is how many managed clusters the sandbox has.
const clusters = 1

// emptyByRight are the selectors that have no series while all is well, each with its reason. A vector of counters or
// gauges has no series for what has never happened.
var emptyByRight = map[string]string{
	"helloworld_agent_hub_credentials_problem":      "only while the agent cannot use its credentials",
	"klusterlet_addon_lease_renewal_failures_total": "only after a renewal has failed",
}

// noPoint are the panels whose query has no number while all is well.
var noPoint = map[string]string{
	"dashboard agent, panel Problems with the credentials":          "there is no problem",
	"dashboard agent, panel Renewals that failed":                   "none has failed",
	"dashboard hub-of-hubs, panel From the row to the object, 95 %": "the file of the program's metrics does not change",
}

// TestLive asks a Prometheus that scrapes real programs.
func TestLive(t *testing.T) {
	l := connect(t, 2, "cluster1")
	l.targets = append(l.targets,
		target{"hub-of-hubs-status-sync", "open-cluster-management", "hub-of-hubs-status-sync", serveFile(t, "hub-of-hubs-status-sync/pkg/syncer/testdata/metrics.txt")},
		target{"hub-of-hubs-status-report", "open-cluster-management", "hub-of-hubs-status-report", serveFile(t, "hub-of-hubs-status-sync/pkg/reporter/testdata/metrics.txt")})
	l.prometheus(t)
	l.change(t)
	t.Run("metrics are well formed", l.testCheckMetrics)
	t.Run("every metric of a query is served", l.testNames)
	t.Run("every selector finds series", l.testSelectors)
	t.Run("every panel has data", l.testPanels)
	t.Run("no alert is pending or fires", l.testNoAlert)
	t.Run("only the leader exports the fleet", l.testLeader)
}

// foreign are complaints of promtool about metrics that are not ours, of Kubernetes' libraries and of Go.
var foreign = map[string]bool{
	`authenticated_user_requests counter metrics should have "_total" suffix`:                                             true,
	`authentication_attempts counter metrics should have "_total" suffix`:                                                 true,
	`authentication_token_cache_active_fetch_count non-histogram and non-summary metrics should not have "_count" suffix`: true,
}

func (l *live) testCheckMetrics(t *testing.T) {
	found := map[string]bool{}
	for _, target := range l.targets {
		output, err := promtool(t, l.scrape(t, target), "check", "metrics")
		if err == nil {
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(output), "\n") {
			if found[line] = true; !foreign[line] {
				t.Errorf("%s: %s", target.job, line)
			}
		}
	}
	for line := range foreign {
		if !found[line] {
			t.Errorf("promtool does not complain any more: %s", line)
		}
	}
}

func (l *live) testNames(t *testing.T) {
	served := map[string]bool{}
	typeOf := regexp.MustCompile(`(?m)^# TYPE (\S+) `)
	for _, target := range l.targets {
		for _, match := range typeOf.FindAllStringSubmatch(l.scrape(t, target), -1) {
			served[match[1]] = true
		}
	}
	for _, q := range queries(t) {
		for _, name := range names(t, q) {
			if !served[name] && emptyByRight[name] == "" {
				t.Errorf("%s reads %s, which no program serves", q.from, name)
			}
		}
	}
	documented := read(t, top, "docs/reference.md") + read(t, top, "docs/lease-sidecar.md")
	for name := range emptyByRight {
		if served[name] {
			t.Errorf("%s is served: it need not be on the list", name)
		}
		if !strings.Contains(documented, "`"+name+"{") {
			t.Errorf("%s is not in the reference: is this its name?", name)
		}
	}
}

func (l *live) testSelectors(t *testing.T) {
	checked := 0
	for _, q := range queries(t) {
		for _, selector := range selectors(t, q) {
			bare := &parser.VectorSelector{Name: selector.Name, LabelMatchers: selector.LabelMatchers}
			checked++
			if len(l.query(t, bare.String())) == 0 && emptyByRight[selector.Name] == "" {
				t.Errorf("%s: %s finds no series", q.from, bare)
			}
		}
	}
	t.Logf("%d selectors", checked)
}

func (l *live) testPanels(t *testing.T) {
	checked, used := 0, map[string]bool{}
	for _, q := range queries(t) {
		if !strings.HasPrefix(q.from, "dashboard ") {
			continue
		}
		checked++
		hasNumber := slices.ContainsFunc(l.query(t, q.expr), func(value string) bool {
			number, err := strconv.ParseFloat(value, 64)
			return err == nil && !math.IsNaN(number)
		})
		switch reason := noPoint[q.from]; {
		case !hasNumber && reason == "":
			t.Errorf("%s has no data: %s", q.from, q.expr)
		case hasNumber && reason != "":
			t.Errorf("%s has data: it need not be on the list", q.from)
		}
		used[q.from] = true
	}
	for from := range noPoint {
		if !used[from] {
			t.Errorf("there is no %s", from)
		}
	}
	t.Logf("%d queries of panels", checked)
}

// testNoAlert evaluates the rules themselves, too, since most wait before they fire.
func (l *live) testNoAlert(t *testing.T) {
	for name, rule := range rules(t) {
		if found := l.query(t, rule.Expr); len(found) > 0 {
			t.Errorf("%s would fire in a healthy fleet: %d results", name, len(found))
		}
	}
	if n := l.loadedRules(t); n != len(rules(t)) {
		t.Errorf("Prometheus has %d rules that can be evaluated, want %d", n, len(rules(t)))
	}
}

func (l *live) testLeader(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{`count(count by (pod) (helloworld_fleet_clusters))`, "1"},
		{`count(leader_election_master_status{name="helloworld-controller"})`, "2"},
		{`count(helloworld_fleet_clusters and on (pod) (leader_election_master_status == 1)) / count(helloworld_fleet_clusters)`, "1"},
		{`sum(helloworld_fleet_clusters)`, fmt.Sprint(clusters)},
		{`helloworld_fleet_clusters{state="Synced"}`, fmt.Sprint(clusters)},
		// the namespace is that of the set; a label that the target has as well would become exported_…
		{`count(helloworld_replicaset_clusters{namespace="team-a",name="settings",state="total"})`, "1"},
		{`count({exported_namespace!=""} or {exported_pod!=""} or {exported_job!=""}) or vector(0)`, "0"},
		{`count(up == 1)`, fmt.Sprint(len(l.targets))},
	} {
		if got := l.query(t, c.query); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s is %v, want %s", c.query, got, c.want)
		}
	}
}

func serveFile(t *testing.T, path string) string {
	t.Helper()
	text := read(t, top, path)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/metrics"
}

// change makes the programs work, so that rates are not of nothing.
func (l *live) change(t *testing.T) {
	t.Helper()
	for i := range 3 {
		l.kubectl(t, "hub", "annotate", "--overwrite", "managedclusteraddon", "-n", "cluster1", "helloworld", fmt.Sprintf("test.example.com/change=%d", i))
		l.kubectl(t, "hub", "patch", "configmap", "-n", "cluster1", "greeting", "--type=merge", "-p", fmt.Sprintf(`{"data":{"change":"%d"}}`, i))
		l.kubectl(t, "hub", "patch", "configmap", "-n", "team-a", "settings", "--type=merge", "-p", fmt.Sprintf(`{"data":{"change":"%d"}}`, i))
		sleep(t, 3*time.Second)
	}
	l.until(t, "the copy of the change is counted", func() bool { return len(l.query(t, `rate(helloworld_agent_sync_duration_seconds_count[5m]) > 0`)) == 1 })
	l.until(t, "the fleet is well", func() bool {
		return len(l.query(t, fmt.Sprintf(`helloworld_fleet_clusters{state="Synced"} == %d`, clusters))) == 1 &&
			len(l.query(t, `helloworld_replicaset_clusters{state="synced"} == ignoring(state) helloworld_replicaset_clusters{state="total"}`)) == 1
	})
}

// loadedRules returns how many rules Prometheus evaluates without an error.
func (l *live) loadedRules(t *testing.T) int {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(l.get(t, "/api/v1/rules")), &answer); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if rule.Health == "ok" {
				n++
			} else {
				t.Errorf("Prometheus cannot evaluate %s: %s %s", rule.Name, rule.Health, rule.LastError)
			}
		}
	}
	return n
}

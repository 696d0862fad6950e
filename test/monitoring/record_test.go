//go:build pictures

package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/test/monitoring/dashboard"
)

const (
	// resolution is the time between two points of a picture.
	resolution = 3 * time.Second
	// turn is the time between two changes of ConfigMaps.
	turn = 2 * time.Second
)

// event is something that happens once during a recording.
type event struct {
	at time.Duration
	do func()
}

// drive changes something every turn, and lets the events happen, each at its time. The run ends with the last.
func drive(t *testing.T, every func(i int), events []event) {
	t.Helper()
	began := time.Now()
	for i := 0; len(events) > 0; i++ {
		sleep(t, turn)
		every(i)
		if time.Since(began) > events[0].at {
			events[0].do()
			events = events[1:]
		}
	}
}

// record asks Prometheus for what the panels of a dashboard show of the time since a run began, and writes it to artifacts/dashboards.
func (l *live) record(t *testing.T, name string, began time.Time) {
	t.Helper()
	board, ok := dashboards(t)[name]
	if !ok {
		t.Fatalf("there is no dashboard %s", name)
	}
	end := time.Now()
	data := dashboard.Data{Seconds: end.Sub(began).Seconds(), Step: resolution.Seconds(), Answers: map[int][][]dashboard.Series{}}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			data.Answers[panel.ID] = append(data.Answers[panel.ID], l.queryRange(t, target.Expr, began, end))
		}
	}
	text, err := json.MarshalIndent(data, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "artifacts", "dashboards")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("dashboard %s: recorded %v, panels without data: %q", name, end.Sub(began).Round(time.Second), dashboard.Empty(board, data))
}

// queryRange returns the series of an expression from one time to another, without what is not a number.
func (l *live) queryRange(t *testing.T, expr string, from, to time.Time) []dashboard.Series {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Values [][2]any          `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	parameters := url.Values{"query": {expr}, "start": {from.Format(time.RFC3339Nano)}, "end": {to.Format(time.RFC3339Nano)}, "step": {fmt.Sprint(resolution.Seconds())}}
	if err := json.Unmarshal([]byte(l.get(t, "/api/v1/query_range?"+parameters.Encode())), &answer); err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	series := []dashboard.Series{}
	for _, result := range answer.Data.Result {
		one := dashboard.Series{Labels: result.Metric}
		for i, pair := range result.Values {
			at, known := pair[0].(float64)
			value, err := strconv.ParseFloat(fmt.Sprint(pair[1]), 64)
			if !known || err != nil {
				t.Fatalf("%s: point %d is %v: %v", expr, i, pair, err)
			}
			if p := (dashboard.Point{At: at - float64(from.UnixMilli())/1000, Value: value}); value-value == 0 { // neither NaN nor infinite
				one.Points = append(one.Points, p)
			}
		}
		series = append(series, one)
	}
	return series
}

// apply applies objects that are written as JSON, one a line.
func (l *live) apply(t *testing.T, cluster string, objects ...string) {
	t.Helper()
	command := l.command(t, cluster, "apply", "-f", "-")
	command.Stdin = strings.NewReader(strings.Join(objects, "\n"))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("apply on %s: %v: %s", cluster, err, output)
	}
}

func configMap(namespace, name string, change int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q},"data":{"change":"%d"}}`, namespace, name, change)
}

func addOn(cluster string) string {
	return fmt.Sprintf(`{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ManagedClusterAddOn","metadata":{"name":"helloworld","namespace":%q},"spec":{"installNamespace":"default"}}`, cluster)
}

// TestRecordFleet records the dashboards of the hub and of the agents, while things happen in a fleet of three clusters.
func TestRecordFleet(t *testing.T) {
	l := connect(t, 20, "cluster1", "cluster2")
	l.prometheus(t)
	names := strings.Fields("certificates endpoints features flags hosts labels levels limits proxies quotas registries routes")
	rollOut := func(level string) func() {
		return func() {
			l.kubectl(t, "hub", "patch", "configmap", "-n", "team-a", "settings", "--type=merge", "-p", fmt.Sprintf(`{"data":{"level":%q}}`, level))
		}
	}
	// A quota keeps new pods from cluster3.
	block := func() { l.kubectl(t, "cluster3", "create", "quota", "team", "--hard=pods=0") }
	unblock := func() { l.kubectl(t, "cluster3", "delete", "quota", "team") }
	began := time.Now()
	drive(t, func(i int) {
		if time.Since(began) > 20*time.Second {
			l.apply(t, "hub", configMap(fmt.Sprintf("cluster%d", 1+i%2), names[i/2%len(names)], i))
		}
	}, []event{
		{45 * time.Second, block},
		{50 * time.Second, func() { l.apply(t, "hub", addOn("cluster3"), configMap("cluster3", "limits", 0)) }},
		{70 * time.Second, unblock},
		{80 * time.Second, func() { // a conflict
			l.apply(t, "cluster1", configMap("default", "timeouts", 0))
			l.apply(t, "hub", configMap("cluster1", "timeouts", 1))
		}},
		{120 * time.Second, rollOut("debug")},
		{150 * time.Second, func() { l.kubectl(t, "cluster1", "delete", "configmap", "-n", "default", "timeouts") }},
		{170 * time.Second, func() { l.kubectl(t, "cluster2", "delete", "configmap", "-n", "default", "hosts", "labels", "levels") }},
		{185 * time.Second, block},
		{190 * time.Second, func() {
			l.kubectl(t, "hub", "delete", "managedclusteraddon", "-n", "cluster3", "helloworld", "--wait=false")
		}},
		{215 * time.Second, unblock},
		{245 * time.Second, func() {
			l.kubectl(t, "hub", "wait", "--for=delete", "--timeout=1m", "managedclusteraddon", "-n", "cluster3", "helloworld")
			l.apply(t, "hub", addOn("cluster3"))
		}},
		{265 * time.Second, rollOut("info")},
		{280 * time.Second, func() { // the agent's pod is gone
			block()
			l.kubectl(t, "cluster3", "delete", "pod", "-n", "default", "-l", "app.kubernetes.io/name=helloworld-agent")
		}},
		{330 * time.Second, unblock},
		{6 * time.Minute, func() {}},
	})
	l.record(t, "hub", began)
	l.record(t, "agent", began)
}

// TestRecordHubOfHubs records the dashboard of the hub of hubs: a global hub and two leaf hubs, which the demonstration starts. It
// records when the demonstration has seen everything and stays up.
func TestRecordHubOfHubs(t *testing.T) {
	here, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	demo := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(here, "bin/demo-hub-of-hubs"), "--top="+here, "--metrics")
	found := background(t, demo, `(?s)--kubeconfig=(\S+)/global/hub\.kubeconfig.* curl http://(\S+) http://(\S+) http://(\S+)\n`, 10*time.Minute)
	l := newLive(found[0])
	for i, c := range []struct{ job, pod string }{
		{"hub-of-hubs-status-sync", "hub-of-hubs-status-sync"},
		{"hub-of-hubs-status-report", "hub-of-hubs-status-report-leaf1"},
		{"hub-of-hubs-status-report", "hub-of-hubs-status-report-leaf2"},
	} {
		l.targets = append(l.targets, target{c.job, "open-cluster-management", c.pod, "http://" + found[1+i]})
	}
	l.prometheus(t)
	began := time.Now()
	drive(t, func(i int) {
		leaf := fmt.Sprintf("leaf%d/hub", 1+i%2)
		switch i / 2 % 4 {
		case 0:
			l.kubectl(t, leaf, "label", "--overwrite", "managedcluster", "cluster1", fmt.Sprintf("change=%d", i))
		case 1, 3:
			l.apply(t, leaf, configMap("cluster1", fmt.Sprintf("settings-%d", i/8), i))
		case 2:
			l.comply(t, leaf, []string{"Compliant", "NonCompliant"}[i/8%2])
		}
	}, []event{
		{time.Minute, func() { // a conflict
			l.apply(t, "leaf1/cluster1", configMap("default", "timeouts", 0))
			l.apply(t, "leaf1/hub", configMap("cluster1", "timeouts", 1))
		}},
		{2 * time.Minute, func() { l.kubectl(t, "leaf1/cluster1", "delete", "configmap", "-n", "default", "timeouts") }},
		{150 * time.Second, func() { l.kubectl(t, "leaf2/hub", "delete", "managedclusteraddon", "-n", "cluster1", "helloworld") }},
		{3 * time.Minute, func() { l.apply(t, "leaf2/hub", addOn("cluster1")) }},
		{6 * time.Minute, func() {}},
	})
	l.record(t, "hub-of-hubs", began)
}

// comply writes the status of the demonstration's policy, as the policy framework does.
func (l *live) comply(t *testing.T, hub, compliance string) {
	t.Helper()
	patch := fmt.Sprintf(`{"status":{"compliant":%q,"status":[{"clustername":"cluster1","clusternamespace":"cluster1","compliant":%q}]}}`, compliance, compliance)
	l.kubectl(t, hub, "patch", "policy", "-n", "default", "no-privileges", "--subresource=status", "--type=merge", "-p", patch)
}

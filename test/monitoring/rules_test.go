package monitoring

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheckRules(t *testing.T) {
	if output, err := promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", write(t, "rules.yaml", groups(t))); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// severities are those that docs/monitoring.md explains.
var severities = []string{"critical", "warning", "info"}

// TestAnnotations: an alert tells what happened, and where to read on.
func TestAnnotations(t *testing.T) {
	for name, rule := range rules(t) {
		if !slices.Contains(severities, rule.Labels["severity"]) {
			t.Errorf("%s has the severity %q", name, rule.Labels["severity"])
		}
		want := "https://github.com/open-cluster-management-io/helloworld-addon/blob/main/docs/runbooks.md#" + strings.ToLower(name)
		if got := rule.Annotations["runbook_url"]; got != want {
			t.Errorf("%s has the runbook_url %q, want %q", name, got, want)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", name)
		}
	}
}

// TestRunbooks: every alert has a section, every section an alert, and the sections are in the order of the rules.
func TestRunbooks(t *testing.T) {
	var want, got []string
	for _, group := range groups(t).Groups {
		for _, rule := range group.Rules {
			want = append(want, rule.Alert)
		}
	}
	page := read(t, top, "docs/runbooks.md")
	for _, section := range strings.Split(page, "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		got = append(got, name)
		if !strings.Contains(text, "**Means**") || !strings.Contains(text, "**Do**") {
			t.Errorf("the section of %s does not have both **Means** and **Do**", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts and sections of docs/runbooks.md (-alerts +sections):\n%s", diff)
	}
}

// TestPageHasEveryAlert: docs/monitoring.md lists the alerts with their severity.
func TestPageHasEveryAlert(t *testing.T) {
	page := read(t, top, "docs/monitoring.md")
	all := rules(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row := regexp.MustCompile(`(?m)^\| \[` + name + `\]\(runbooks\.md#` + strings.ToLower(name) + `\) \| ` + all[name].Labels["severity"] + ` \|`)
		if !row.MatchString(page) {
			t.Errorf("docs/monitoring.md has no row of %s with the severity %s", name, all[name].Labels["severity"])
		}
	}
}

// unitTest is a test of promtool test rules.
type unitTest struct {
	Name     string      `json:"name"`
	Interval string      `json:"interval"`
	Input    []input     `json:"input_series"`
	Alerts   []alertTest `json:"alert_rule_test"`
}

type input struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type alertTest struct {
	At       string     `json:"eval_time"`
	Alert    string     `json:"alertname"`
	Expected []expected `json:"exp_alerts"`
}

type expected struct {
	Labels      map[string]string `json:"exp_labels"`
	Annotations map[string]string `json:"exp_annotations"`
}

func inputs(t *testing.T, series []string) []input {
	t.Helper()
	var all []input
	for _, line := range series {
		cut := strings.LastIndex(line, " = ")
		if cut < 0 {
			t.Fatalf("%q has no values", line)
		}
		all = append(all, input{line[:cut], line[cut+3:]})
	}
	return all
}

// atOnce are the alerts that are not pending first: the copies are deleted within minutes.
var atOnce = []string{"HelloworldDeletionHeld", "HelloworldAgentDeletionHeld"}

// TestAlerts: each alert fires with the series of its case, not yet after a third of the time, and not with those that are
// just not enough. Only the summary is compared: the description and the link are the same each time.
func TestAlerts(t *testing.T) {
	all := groups(t)
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			delete(rule.Annotations, "description")
			delete(rule.Annotations, "runbook_url")
		}
	}
	severity, missing := map[string]string{}, rules(t)
	for name, rule := range missing {
		severity[name] = rule.Labels["severity"]
	}
	var tests []unitTest
	for _, c := range alerts {
		delete(missing, c.alert)
		labels := maps.Clone(c.labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels["severity"] = severity[c.alert]
		tests = append(tests,
			unitTest{c.alert + " fires", "1m", inputs(t, c.fires), []alertTest{{c.at, c.alert, []expected{{labels, map[string]string{"summary": c.summary}}}}}},
			unitTest{c.alert + " does not fire: " + c.reason, "1m", inputs(t, c.quiet), []alertTest{{c.at, c.alert, nil}}})
		at, err := time.ParseDuration(c.at)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(atOnce, c.alert) {
			tests = append(tests, unitTest{c.alert + " is only pending", "1m", inputs(t, c.fires), []alertTest{{(at / 3).Truncate(time.Minute).String(), c.alert, nil}}})
		}
	}
	for name := range missing {
		t.Errorf("%s has no case", name)
	}
	file := write(t, "rules.yaml", all)
	output, err := promtool(t, "", "test", "rules", write(t, "tests.yaml", map[string]any{"rule_files": []string{file}, "evaluation_interval": "1m", "tests": tests}))
	if err != nil {
		t.Errorf("%v: %s", err, output)
	}
	t.Logf("%d cases that fire, and as many that do not", len(alerts))
}

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// values are entries of data that YAML or a terminal could take for something else.
var values = []string{
	"", " ", "info", "a b", "a: b", "a #b", "#a", "- a", "-1", "1", "1.5", "0x1f", "true", "yes", "null", "~", "2026-11-23", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "`a`",
	"'a'", `"a"`, "a'b", `a\b`, "a:", "a\tb", "\ta", "a ", "https://cluster1.example.com:6443/a?b=c#d", "$(REGION)", "=", "<<", "|", ">", "a,b", "? a", "über", "日本", "😀",
	"a\nb", "a\nb\n", "a\nb\n\n", "\n", "\n\n", "\na", " a\nb", "\ta\nb", "a\n b", "a\n\nb", "a \nb", "a\n\tb\n", "a\n  ", "  \na\n", "---\na: b\n...\n",
	"a\rb", "a\r\nb\r\n", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\n\x1b[2J\n b\n", "\u009b31m", "\u202edcba", "\u200b", "\u00a0", "\u2028", "\x7f", "\x00", "\ufeffa", "\U000e0001",
}

// TestText: a copy is shown as YAML with the same data, and has nothing that a terminal interprets.
func TestText(t *testing.T) {
	for _, value := range values {
		content := render.Content{Name: "settings", Data: map[string]string{"before": "x", "key": value, "last": value}}
		checkText(t, content)
	}
	hubobjects.CheckGolden(t, "text.yaml", Text(render.Content{Name: "settings", Immutable: true, BinaryData: map[string][]byte{"logo": {0, 1, 2}},
		Data: map[string]string{"level": "info", "on": "true", "empty": "", "script": "#!/bin/sh\n\techo hello \n\nexit\n", "red": "a\n\x1b[31m \"red\"\n  b\n", "url": "https://a:1/b"}}))
}

func checkText(t *testing.T, content render.Content) {
	t.Helper()
	text := Text(content)
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("%q has %q", text, text[i:])
	}
	var parsed struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Errorf("%q: %v\n%s", content.Data, err, text)
	} else if diff := cmp.Diff(content.Data, parsed.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s\n%s", diff, text)
	}
}

func FuzzText(f *testing.F) {
	for _, value := range values {
		f.Add("key", value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		// The keys of a ConfigMap are simple, and JSON has no text that is not UTF-8.
		key = strings.Map(func(r rune) rune {
			if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
				return r
			}
			return -1
		}, key)
		if key != "" {
			checkText(t, render.Content{Name: "a", Data: map[string]string{key: strings.ToValidUTF8(value, "?")}})
		}
	})
}

// TestUnified: the header names what changes, and that a copy is created or removed.
func TestUnified(t *testing.T) {
	before := &render.Content{Name: "settings", Data: map[string]string{"a": "1", "b": "2", "level": "info", "y": "3", "z": "4"}, BinaryData: map[string][]byte{"logo": {1}}}
	after := &render.Content{Name: "settings", Data: map[string]string{"a": "1", "b": "2", "level": "debug", "y": "3", "z": "4"}, BinaryData: map[string][]byte{"logo": {2}}}
	text := unified(change{name: "settings", before: before, after: after, set: "team-a/settings"}) +
		unified(change{name: "settings", after: after}) + unified(change{name: "settings", before: before, set: "team-a/settings"})
	hubobjects.CheckGolden(t, "unified.diff", text)
}

// TestGroups: clusters whose lines change in the same way are one group, the largest first.
func TestGroups(t *testing.T) {
	w := newWorld(t)
	w.file("team/a", data{"level": "info", "region": "$(REGION)"}, data{"level": "debug", "region": "$(REGION)"})
	w.file("c1/b", nil, one)
	s := spec("a")
	s.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}}
	w.place("team/fleet", "c1", "c2", "c3")
	w.deliver(w.set("team/s", 60, s), "c1", "c2", "c3")
	report := w.answer()
	var got []string
	for _, group := range report.Groups {
		got = append(got, fmt.Sprintf("%v %d %t", group.Clusters, len(group.ConfigMaps), group.Context))
	}
	if diff := cmp.Diff([]string{"[c2 c3] 1 true", "[c1] 2 false"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Totals{Clusters: 3, Changed: 3, Created: 1, Updated: 3}, report.Totals); diff != "" || !report.Changes || !report.Complete {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// TestTotals: what the exit code and the last line are made of.
func TestTotals(t *testing.T) {
	for _, c := range []struct {
		name, reason      string
		setUp             func(w *world)
		want              Totals
		changes, complete bool
	}{
		{"nothing", "exit code 0", func(w *world) { w.file("c1/a", one, one) }, Totals{Clusters: 1}, false, true},
		{"excluded", "no cluster changes", func(w *world) { w.file("c1/kube-root-ca.crt", nil, one) }, Totals{Clusters: 1}, false, true},
		{"blocked", "a change of the file does not arrive", func(w *world) { w.file("c1/a", one, two); w.reportState("c1", "a", v1alpha1.MirrorConflict) },
			Totals{Clusters: 1, Blocked: 1}, true, true},
		{"refused", "kubectl apply fails", func(w *world) { w.file("c1/a", one, nil).Failure = &Failure{"Refused", "no"} }, Totals{}, false, false},
		{"removed", "", func(w *world) { w.file("c1/a", one, one).After.Labels = optOut }, Totals{Clusters: 1, Changed: 1, Removed: 1}, true, true},
	} {
		w := newWorld(t)
		c.setUp(w)
		report := w.answer()
		if diff := cmp.Diff(c.want, report.Totals); diff != "" || report.Changes != c.changes || report.Complete != c.complete {
			t.Errorf("%s: %s: changes %t, complete %t (-want +got):\n%s", c.name, c.reason, report.Changes, report.Complete, diff)
		}
	}
}

// TestLargeDiff: the largest ConfigMap, with every second line changed, does not take long.
func TestLargeDiff(t *testing.T) {
	lines := slices.Collect(strings.Lines(strings.Repeat("a line of a configuration file\n", render.MaxContent/31)))
	before := strings.Join(lines, "")
	for i := range lines {
		if i%2 == 0 {
			lines[i] = fmt.Sprintf("another line %d of the file\n", i)
		}
	}
	begin := time.Now()
	for _, after := range []string{strings.Join(lines, ""), strings.Repeat("\n", render.MaxContent)} {
		text := unified(change{name: "a", before: &render.Content{Name: "a", Data: data{"x": before}}, after: &render.Content{Name: "a", Data: data{"x": after}}})
		t.Logf("%d lines in %s", strings.Count(text, "\n"), time.Since(begin).Round(time.Millisecond))
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

package diff

import (
	"bytes"
	"fmt"
	"testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
)

// TestShow prints a report of many clusters: bounded, as a whole, and in colours.
func TestShow(t *testing.T) {
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("cluster%02d", i))
	}
	r := &plan.Report{Totals: plan.Totals{Clusters: 40, Changed: 33, Blocked: 1, Created: 1, Updated: 31, Removed: 1},
		Groups: []plan.Group{{Clusters: many, Context: true, ConfigMaps: []plan.Change{{Name: "a", Action: "updated", Diff: "--- now/a\n+++ applied/a\n@@ -1,3 +1,3 @@\n data:\n-  a: b\n+  a: c\n \n"}}}}}
	for i := range 21 {
		r.Groups = append(r.Groups, plan.Group{Clusters: []string{fmt.Sprintf("single%02d", i)}, ConfigMaps: []plan.Change{{Name: "a", Action: "created",
			Diff: fmt.Sprintf("--- /dev/null\n+++ applied/a\n@@ -0,0 +1,1 @@\n+number: %d\n", i)}}})
	}
	for i, effect := range []plan.Effect{plan.Incomplete, plan.Blocked, plan.Note} {
		r.Findings = append(r.Findings, plan.Finding{Effect: effect, Reason: "Reason", Message: "a \x1b[1m message", Clusters: many[:i]})
	}
	for i := range 18 {
		r.Findings = append(r.Findings, plan.Finding{Effect: plan.Note, Reason: "Reason", Message: fmt.Sprint(i), Clusters: many})
	}
	for _, c := range []struct {
		golden, format string
		colors         bool
	}{{"bounded.txt", "", false}, {"all.txt", "wide", false}, {"colors.txt", "", true}} {
		var out bytes.Buffer
		if err := show(r, c.format, &out, c.colors); err != nil {
			t.Fatal(err)
		}
		hubobjects.CheckGolden(t, c.golden, out.String())
	}
}

func TestSummary(t *testing.T) {
	for want, totals := range map[string]plan.Totals{
		"No cluster changes.": {Clusters: 3},
		"No cluster changes; on 1 cluster a change is blocked.":                                   {Clusters: 3, Blocked: 1},
		"1 of 1 cluster change: 1 ConfigMap created.":                                             {Clusters: 1, Changed: 1, Created: 1},
		"2 of 3 clusters change: 1 ConfigMap created, 2 ConfigMaps updated, 1 ConfigMap removed.": {Clusters: 3, Changed: 2, Created: 1, Updated: 2, Removed: 1},
	} {
		if got := summary(&plan.Report{Totals: totals, Complete: true}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := summary(&plan.Report{}); got != "No cluster is known to change." {
		t.Errorf("an incomplete answer: %q", got)
	}
}

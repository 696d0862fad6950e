package status

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

func TestCells(t *testing.T) {
	expired, soon, future := ago(time.Second), ago(-90*time.Minute), ago(-time.Hour)
	counts := func(total, synced int, notSynced map[v1alpha1.MirrorState]int) *report.ConfigMaps {
		return &report.ConfigMaps{Total: total, Synced: synced, NotSynced: notSynced}
	}
	for _, c := range []struct {
		name, reason string
		row          report.Row
		want         string
	}{
		{"nothing is known", "no cell is empty, so that columns can be counted", report.Row{Name: "x", State: "Synced"}, "x|Synced|false|-|-|-|-|-|-|-|-"},
		{"not running", "the version is what the hub ships", report.Row{Name: "x", State: "Synced", Agent: &report.Image{Version: "v1", Image: "a:v1"}},
			"x|Synced|false|-|-|-|(v1)|-|-|a:v1|-"},
		{"expired", "", report.Row{Name: "x", State: "CertificateExpired", CredentialsExpire: &expired, Since: &expired}, "x|CertificateExpired|false|-|-|-|-|expired|1s|-|-"},
		{"soon", "", report.Row{Name: "x", State: "Synced", CredentialsExpire: &soon}, "x|Synced|false|-|-|-|-|90m|-|-|-"},
		{"since the future", "clocks differ", report.Row{Name: "x", State: "Synced", Since: &future}, "x|Synced|false|-|-|-|-|-|0s|-|-"},
		{"states of ConfigMaps", "the worst first", report.Row{Name: "x", State: "Failed", ConfigMaps: counts(12, 5, map[v1alpha1.MirrorState]int{
			v1alpha1.MirrorPending: 1, v1alpha1.MirrorContested: 1, v1alpha1.MirrorFailed: 2, v1alpha1.MirrorConflict: 1})},
			"x|Failed|false|-|5/12|2 Failed, 1 Conflict, 1 Contested, 1 Pending, 2 other|-|-|-|-|-"},
		{"a hostile message", "it may not control the terminal, nor look like another row",
			report.Row{Name: "x", State: "Failed", Message: "a\x1b[31mb\ncluster9   Synced\u202e\u009bc"}, "x|Failed|false|-|-|-|-|-|-|-|a[31mb cluster9   Syncedc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(cells(c.row, now), "|"); got != c.want {
				t.Errorf("got %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}

// TestColors: colours are on the state alone, which says the same in words, and do not move the columns.
func TestColors(t *testing.T) {
	r := report.New(report.Input{Clusters: []report.Facts{{Name: "a"}, {Name: "b", AddOn: &report.AddOn{}}, {Name: "c", AddOn: &report.AddOn{},
		Cluster: &report.Cluster{}}}, AddOnsRead: true, Now: now})
	var plain, colored bytes.Buffer
	for _, p := range []printer{newPrinter("", &plain, false), newPrinter("", &colored, true)} {
		if err := p.print(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"\x1b[31mClusterUnavailable\x1b[0m   ", "\x1b[33mStarting\x1b[0m   ", "\x1b[32mNotEnabled\x1b[0m   ", "CLUSTER   STATE  "} {
		if !strings.Contains(colored.String(), want) {
			t.Errorf("no %q in %q", want, colored.String())
		}
	}
	if escapes := strings.Count(colored.String(), "\x1b["); escapes != 2*len(r.Clusters) {
		t.Errorf("%d escape sequences in %q", escapes, colored.String())
	}
	without := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(colored.String())
	if without != plain.String() {
		t.Errorf("without colours:\n%s\nplain:\n%s", without, plain.String())
	}
}

func TestSummary(t *testing.T) {
	for want, totals := range map[string]report.Totals{
		"1 cluster, 0 with the add-on. 0 of 0 ConfigMaps synced.": {Clusters: 1, States: map[report.State]int{report.NotEnabled: 1}},
		"5 clusters, 4 with the add-on: 2 well, 2 not (1 Conflict, 1 Syncing). 15 of 16 ConfigMaps synced.": {Clusters: 5, Enabled: 4, NotWell: 2,
			States:     map[report.State]int{report.NotEnabled: 1, report.Conflict: 1, report.Syncing: 1, report.Synced: 2},
			ConfigMaps: report.SyncedCount{Total: 16, Synced: 15}},
	} {
		if got := summary(totals); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

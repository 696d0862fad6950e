package launcher

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// TestReport checks that the line after those of a cluster or a fleet has what was done to it.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	started, _ := statedir.ProcessStart(os.Getpid())
	record := fmt.Sprintf(`{"kind":"open-cluster-management-sandbox","pid":%d,"startTime":%d,"clusters":["hub","cluster1"],"hubs":1,"fleet":{}}`, os.Getpid(), started)
	cluster := filepath.Join(dir, "cluster1")
	for file, content := range map[string]string{
		filepath.Join(dir, "sandbox.json"): record, control.CutFile(cluster, "hub", false): "", control.CutFile(cluster, "hub", true): "",
		filepath.Join(cluster, "programs", "work-agent.kept"): "", filepath.Join(cluster, "programs", "work-agent.stopped"): "",
		filepath.Join(dir, "fleet", "programs", "agents.kept"): "", filepath.Join(dir, "fleet", "programs", "agents.stopped"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := Report(t.Context(), Options{Dir: dir, Out: &out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) < 6 || !strings.HasPrefix(lines[1], "cluster1 ") || strings.TrimSpace(lines[2]) != "cut off from hub; stopped: work-agent" ||
		!strings.HasPrefix(lines[3], "fleet ") || strings.TrimSpace(lines[5]) != "stopped: agents" {
		t.Errorf("Report prints\n%s", out.String())
	}
}

func TestSituationOf(t *testing.T) {
	for _, test := range []struct {
		name    string
		cuts    []control.Cut
		stopped []string
		want    string
	}{
		{"as it was started", nil, nil, ""},
		{"cut off", []control.Cut{{Hub: "hub", FirstURL: true, OtherURL: true}}, nil, "cut off from hub"},
		{"a hub that has moved", []control.Cut{{Hub: "hub", FirstURL: true}}, nil, "cut off from hub's first URL"},
		{"mended by the first URL alone", []control.Cut{{Hub: "hub", OtherURL: true}}, nil, "cut off from hub's other URL"},
		{"a stopped program", nil, []string{"registration-agent"}, "stopped: registration-agent"},
		{"all at once", []control.Cut{{Hub: "hub", FirstURL: true, OtherURL: true}, {Hub: "hub2", FirstURL: true}}, []string{"etcd", "work-agent"},
			"cut off from hub; cut off from hub2's first URL; stopped: etcd, work-agent"},
	} {
		if got := situationOf(test.cuts, test.stopped); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

package bench

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/steps"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, why string
		options   Options
		want      string
	}{
		{"all steps", "no steps mean all", Options{Clusters: 5}, ""},
		{"rotation alone", "it has a fleet of its own", Options{Clusters: 5, Steps: []string{record.Rotate}}, ""},
		{"sets alone", "the step enables the add-on when the one before is left out", Options{Clusters: 5, Steps: []string{record.Distribute}}, ""},
		{"no clusters", "there is nothing to measure", Options{}, "--clusters=0"},
		{"on a part", "the add-on need not be on all", Options{Clusters: 5, EnableOn: 5, Steps: []string{record.Join, record.Enable}}, ""},
		{"on a part of a step before", "the step that enables it is left out", Options{Clusters: 5, EnableOn: 2, Steps: []string{record.Join}}, "--enable-on=2"},
		{"on less than none", "a number is not negative", Options{Clusters: 5, EnableOn: -1, Steps: []string{record.Enable}}, "--enable-on=-1"},
		{"on more than all", "there are no more clusters", Options{Clusters: 5, EnableOn: 6, Steps: []string{record.Enable}}, "--enable-on=6"},
		{"all steps on a part", "other steps need it on all", Options{Clusters: 5, EnableOn: 2}, "--steps=join,enable"},
		{"leases while clusters join", "they are set as soon as a cluster is there", Options{Clusters: 5, Lease: time.Minute, Steps: []string{record.Join}}, ""},
		{"a period of leases", "a lease is in seconds", Options{Clusters: 5, Lease: 5 * time.Minute}, ""},
		{"half a second", "a lease is in whole seconds", Options{Clusters: 5, Lease: 500 * time.Millisecond}, "--lease=500ms"},
		{"a lease in the past", "a period is not negative", Options{Clusters: 5, Lease: -time.Second}, "--lease=-1s"},
		{"an unknown step", "a typo must not run nothing", Options{Clusters: 5, Steps: []string{"enabel"}}, "the steps are join,"},
		{"idle without enable", "a step needs what comes before it", Options{Clusters: 5, Steps: []string{record.Join, record.Idle}}, "need it"},
	} {
		err := c.options.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s (%s): got %v, want %q", c.name, c.why, err, c.want)
		}
	}
}

// TestFloor: the floor's watches and memory would count where nothing is compared with it.
func TestFloor(t *testing.T) {
	for _, c := range []struct {
		steps []string
		want  map[string]bool
	}{
		{[]string{record.Join, record.Enable, record.Idle}, map[string]bool{"fleet": false}},
		{[]string{record.Rotate}, map[string]bool{record.Rotate: false}},
		{[]string{record.Enable, record.Change, record.Rotate}, map[string]bool{"fleet": true, record.Rotate: false}},
		{[]string{record.Distribute}, map[string]bool{"fleet": false}}, // its bare writers need no floor on the clusters
	} {
		b := &bench{Options: Options{Steps: c.steps, Agents: "agents"}, work: "work"}
		got := map[string]bool{}
		for _, p := range b.parts() {
			got[p.name] = strings.Contains(strings.Join(p.flags, " "), "agents --image="+agentImage+" --floor-until="+filepath.Join("work", "floor-ended"))
			if got[p.name] != (p.floorUntil != "") {
				t.Errorf("%s: %s ends the floor with %q", c.steps, p.name, p.floorUntil)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: whose agents run with the floor (-want +got):\n%s", c.steps, diff)
		}
	}
}

// TestStepIsWritten: what was measured is kept when a later step is killed.
func TestStepIsWritten(t *testing.T) {
	b := &bench{Options: Options{JSON: filepath.Join(t.TempDir(), "artifacts", "run.json"), Out: io.Discard}, record: &record.Record{Size: 5}}
	for n := range 2 {
		b.step(t.Context(), nil, record.Idle, func(context.Context, *steps.Fleet) error {
			b.record.Add(record.Figure{Step: record.Idle, Metric: "m", Value: float64(n)})
			return nil
		})
		content, err := os.ReadFile(b.JSON)
		if err != nil {
			t.Fatal(err)
		}
		written, err := record.Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.record, written); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", n+1, diff)
		}
	}
}

// TestSmokeTouchesInTime: before OCM would renew, a touch does nothing; after the expiry it is too late.
func TestSmokeTouchesInTime(t *testing.T) {
	times := Smoke(20)
	const backdated = 5 // minutes
	whole := times.CertificateLife.Minutes() + backdated
	earliest, latest := times.CertificateLife.Minutes()-whole/5, times.CertificateLife.Minutes()-0.5
	if at := times.Touch.Minutes(); at < earliest || at > latest {
		t.Errorf("touched after %.1f minutes, between %.1f and %.1f would be right", at, earliest, latest)
	}
}

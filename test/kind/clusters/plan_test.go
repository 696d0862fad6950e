package clusters

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPlanUp(t *testing.T) {
	const ours, foreign = true, false
	cases := map[string]struct {
		reason   string
		wanted   int
		existing map[string]bool
		want     plan
		wantErr  string
	}{
		"nothing is there": {
			reason: "the first run makes all of them",
			wanted: 1,
			want:   plan{create: []string{"hub", "cluster1"}},
		},
		"all is there": {
			reason:   "a second run changes nothing",
			wanted:   1,
			existing: map[string]bool{"hub": ours, "cluster1": ours},
			want:     plan{keep: []string{"hub", "cluster1"}},
		},
		"one more": {
			reason:   "a larger number adds to what is there",
			wanted:   2,
			existing: map[string]bool{"hub": ours, "cluster1": ours},
			want:     plan{keep: []string{"hub", "cluster1"}, create: []string{"cluster2"}},
		},
		"one less": {
			reason:   "a smaller number deletes no cluster that may be in use",
			wanted:   1,
			existing: map[string]bool{"hub": ours, "cluster10": ours, "cluster2": ours, "cluster1": ours},
			want:     plan{keep: []string{"hub", "cluster1", "cluster2", "cluster10"}},
		},
		"another user's hub": {
			reason:   "a cluster of the same name is never touched",
			wanted:   1,
			existing: map[string]bool{"hub": foreign},
			wantErr:  "x-hub",
		},
		"another user's, not wanted": {
			reason:   "what is not ours and not in the way does not matter",
			wanted:   1,
			existing: map[string]bool{"cluster7": foreign},
			want:     plan{create: []string{"hub", "cluster1"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := planUp(wantedNames(c.wanted), c.existing, func(name string) string { return "x-" + name })
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("%s: got error %v, want one that names %q", c.reason, err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(plan{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestValidateSaysEverything(t *testing.T) {
	err := Options{Dir: "", Prefix: "Not A Name "}.Validate()
	if err == nil {
		t.Fatal("no error for an empty directory and a wrong prefix")
	}
	for _, want := range []string{"--dir", "--prefix"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	for _, wrong := range []UpOptions{{Clusters: -1}, {Clusters: MaxClusters + 1}, {NodeImage: "two words"},
		{RestartBackOff: time.Millisecond}, {RestartBackOff: time.Hour}} {
		if wrong.Validate() == nil {
			t.Errorf("no error for %+v", wrong)
		}
	}
}

func TestConfigOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		up     UpOptions
		want   []string
	}{
		"nothing is set": {reason: "kind's own configuration, for nodes of every version"},
		"a shorter wait": {
			reason: "the kubelet rejects the field without the feature gate",
			up:     UpOptions{RestartBackOff: 20 * time.Second},
			want:   []string{"kind: KubeletConfiguration\ncrashLoopBackOff: {maxContainerRestartPeriod: 20s}\nfeatureGates: {KubeletCrashLoopBackOffMax: true}\n"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, configOf(c.up).KubeadmConfigPatches); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

package replicaset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

func TestRecent(t *testing.T) {
	at := time.Unix(1000, 0)
	object := func(by, version string) plan.Object {
		return plan.Object{Cluster: "c", Name: "m", UID: "u-1", ResourceVersion: version, Set: by}
	}
	written := write{at: at, object: object("written", "5")}
	deleted := write{at: at, gone: "u-1", version: "4"}
	for _, test := range []struct {
		name, reason string
		write        write
		cached       map[string]plan.Object
		after        time.Duration
		want         string // who made the object, or none
		kept         bool
	}{
		{"created, not shown", "the plan must not create it again", written, nil, time.Second, "written", true},
		{"updated, older shown", "the plan must not update it again", written, map[string]plan.Object{"c/m": object("cached", "4")}, time.Second, "written", true},
		{"shown", "the cache has it", written, map[string]plan.Object{"c/m": object("cached", "5")}, time.Second, "cached", false},
		{"newer shown", "another writer's change counts", written, map[string]plan.Object{"c/m": object("cached", "6")}, time.Second, "cached", false},
		{"never shown", "the hub was restored from a backup", written, nil, trust, "none", false},
		{"deleted, still shown", "the plan must not delete it again", deleted, map[string]plan.Object{"c/m": object("cached", "4")}, time.Second, "none", true},
		{"released, and shown so", "the object is as the cache shows it", deleted, map[string]plan.Object{"c/m": object("cached", "5")}, time.Second, "cached", false},
		{"deleted", "the cache has it", deleted, nil, time.Second, "none", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRecent()
			r.record("c", "m", test.write)
			objects := map[string]plan.Object{}
			for key, cached := range test.cached {
				objects[key] = cached
			}
			if recheck := r.apply(objects, at.Add(test.after)); recheck.IsZero() == test.kept {
				t.Errorf("planned again at %v, want a time for a write that is kept", recheck)
			}
			got := "none"
			if o, ok := objects["c/m"]; ok {
				got = o.Set
			}
			if got != test.want {
				t.Errorf("got %s, want %s: %s", got, test.want, test.reason)
			}
			if _, kept := r.writes["c/m"]; kept != test.kept {
				t.Errorf("the write is kept: %t, want %t", kept, test.kept)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	r := refusals{byCluster: map[string]refused{}}
	at := time.Unix(1000, 0)
	r.record("c", "r1", "forbidden", at)
	r.record("c", "r1", "still forbidden", at.Add(refusedBase))
	want := []plan.Refusal{{Cluster: "c", Revision: "r1", Message: "still forbidden", Since: at}}
	if diff := cmp.Diff(want, r.list(at.Add(refusedGrace))); diff != "" {
		t.Errorf("the first time counts, and the last message (-want +got):\n%s", diff)
	}
	if got, want := r.wait("c", "r1", at.Add(refusedBase)), at.Add(3*refusedBase); !got.Equal(want) {
		t.Errorf("after two refusals the next attempt is at %v, want %v", got, want)
	}
	if got := r.wait("c", "r2", at); !got.IsZero() {
		t.Errorf("another revision waits until %v, want no wait", got)
	}
	if got := r.list(at.Add(refusedGrace - 1)); got != nil {
		t.Errorf("a refusal counts at once: %v", got)
	}
	if r.keep([]plan.Write{{Cluster: "c", Revision: "r1"}}) || !r.keep([]plan.Write{{Cluster: "c", Revision: "r2"}}) {
		t.Error("a refusal is kept exactly as long as its write is planned")
	}
	r.record("c", "r1", "forbidden", at)
	r.record("c", "r1", "", at)
	if got := r.list(at.Add(time.Hour)); got != nil {
		t.Errorf("after a write that succeeded: %v", got)
	}
}

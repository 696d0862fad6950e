package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// TestIssues has what went wrong in other rollouts. Each case lets time pass by Result.Recheck alone, and carries
// out the writes.
func TestIssues(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		setUp  func(f *fixture)
		// silent are the clusters whose agents never report.
		silent string
		// want has the writes of each plan that has some, with its time after the first plan, and the last
		// status.
		want   []string
		status string
	}{
		{"ocm#327", "the next step comes when the soak time is over, though no object changes",
			func(f *fixture) { f.progressive(0, soak(time.Minute)) }, "",
			[]string{"0s update c1/a r2, update c1/b r2", "1m0s update c2/a r2, update c2/b r2", "2m0s update c3/a r2, update c3/b r2"},
			resolved + "RolledOut=True/RolledOut" + fine},
		{"ocm#1201 and ocm#1207", "a success with the former revision is no soak time of this one: it lasts for each cluster",
			func(f *fixture) {
				f.progressive(0, soak(5*time.Minute))
				// The cluster had this revision before, and its agent still reports that.
				f.report("c1 c2 c3", "r2", v1alpha1.MirrorSynced, 9000)
			}, "",
			[]string{"0s update c1/a r2, update c1/b r2", "5m0s update c2/a r2, update c2/b r2", "10m0s update c3/a r2, update c3/b r2"},
			resolved + "RolledOut=True/RolledOut" + fine},
		{"argo-rollouts#3331", "a new revision does not wait for what got stuck with the former one",
			func(f *fixture) {
				f.progressive(0, clusterv1alpha1.RolloutConfig{ProgressDeadline: "1m"})
				f.Revisions, f.Desired = append(f.Revisions, Revision{"r3", 3}), "r3"
				f.names["r3"] = []string{"a"}
				f.Objects = nil
				f.give("c1", "r2", 9000)
				f.report("c1", "r2", v1alpha1.MirrorFailed, 9000)
				f.synced("c2 c3", "r1", 90000)
			}, "",
			[]string{"0s update c1/a r3, delete c1/b", "0s update c2/a r3, delete c2/b", "0s update c3/a r3, delete c3/b"},
			resolved + "RolledOut=True/RolledOut" + fine},
		{"argo-rollouts#4128", "a rollout without progress gives up at its deadline, and touches no other cluster",
			func(f *fixture) { f.progressive(0, clusterv1alpha1.RolloutConfig{ProgressDeadline: "1m"}) }, "c1",
			[]string{"0s update c1/a r2, update c1/b r2"},
			resolved + "RolledOut=False/Stopped Degraded=True/Stopped"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture()
			f.place("p", "c1 c2 c3")
			f.synced("c1 c2 c3", "r1", 90000)
			test.setUp(f)
			var got []string
			for range 20 {
				result := Plan(f.Inputs)
				if len(result.Writes) > 0 {
					got = append(got, f.Now.Sub(now).String()+" "+written(result.Writes))
				}
				f.Set.Status = result.Status
				f.apply(result.Writes, test.silent)
				switch {
				case len(result.Writes) > 0:
				case result.Recheck.IsZero():
					if diff := cmp.Diff(test.want, got); diff != "" {
						t.Errorf("%s: writes (-want +got):\n%s", test.reason, diff)
					}
					if diff := cmp.Diff(test.status, conditions(f.Set.Status)); diff != "" {
						t.Errorf("%s: status (-want +got):\n%s", test.reason, diff)
					}
					return
				default:
					f.Now = result.Recheck
				}
			}
			t.Errorf("%s: it does not end: %v", test.reason, got)
		})
	}
}

func soak(d time.Duration) clusterv1alpha1.RolloutConfig {
	return clusterv1alpha1.RolloutConfig{MinSuccessTime: metav1.Duration{Duration: d}}
}

// apply carries out writes, and lets the agents of their clusters report them, except a silent one. An agent that
// reports this revision already keeps the time of its report.
func (f *fixture) apply(writes []Write, silent string) {
	for _, write := range writes {
		kept := f.Objects[:0]
		for _, object := range f.Objects {
			if object.Cluster != write.Cluster || object.Name != write.Name {
				kept = append(kept, object)
			}
		}
		f.Objects = kept
		if write.Action == Delete {
			continue
		}
		object := f.object(write.Cluster, write.Name, write.Revision, 0)
		object.Since, object.Content = write.Since, write.Content
		if write.Cluster != silent && !f.reports(write) {
			f.Reports[write.Cluster] = append(f.Reports[write.Cluster], v1alpha1.MirroredConfigMap{Name: write.Name, Revision: write.Revision,
				State: v1alpha1.MirrorSynced, Since: metav1.NewTime(f.Now)})
		}
	}
}

func (f *fixture) reports(write Write) bool {
	for _, entry := range f.Reports[write.Cluster] {
		if entry.Name == write.Name && entry.Revision == write.Revision {
			return true
		}
	}
	return false
}

package sandboxtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummarize(t *testing.T) {
	manager := pod{cluster: "hub", name: "manager"}
	crashing := pod{cluster: "cluster2", name: "app", problem: "Running", owned: true}
	available := []condition{{Type: "Available", Status: "True", Reason: "Fine"}}
	for _, test := range []struct {
		name      string
		inspected []*report
		more      int
		want      []string
	}{
		{"no add-on is enabled", nil, 0, nil},
		{"first pods with a problem; a pod of the hub once", []*report{
			{addon: "app", cluster: "cluster1", addOn: available, pods: []pod{manager}},
			{addon: "app", cluster: "cluster2", addOn: available, pods: []pod{manager, crashing}},
		}, 0, []string{
			"the add-on app on cluster2:\npod app on cluster2: Running\nManagedClusterAddOn cluster2/app:\n  Available=True Fine\npod manager on hub: ready",
			"the add-on app on cluster1:\nManagedClusterAddOn cluster1/app:\n  Available=True Fine",
		}},
		{"with the add-on's own pod, though it is on the hub and another report has it", []*report{
			{addon: "a", cluster: "hub", pods: []pod{{cluster: "hub", name: "b"}}},
			{addon: "b", cluster: "hub", pods: []pod{{cluster: "hub", name: "b", owned: true}}},
		}, 0, []string{
			"the add-on a on hub:\nManagedClusterAddOn hub/a:\n  no conditions\npod b on hub: ready",
			"the add-on b on hub:\nManagedClusterAddOn hub/b:\n  no conditions\npod b on hub: ready",
		}},
		{"at most three, those that are not available before others", []*report{
			{addon: "a", cluster: "cluster1", addOn: available}, {addon: "b", cluster: "cluster1"}, {addon: "c", cluster: "cluster1"}, {addon: "d", cluster: "cluster1"},
		}, 7, []string{
			"the add-on b on cluster1:\nManagedClusterAddOn cluster1/b:\n  no conditions",
			"the add-on c on cluster1:\nManagedClusterAddOn cluster1/c:\n  no conditions",
			"the add-on d on cluster1:\nManagedClusterAddOn cluster1/d:\n  no conditions",
			"further enabled add-ons: a on cluster1, 7 more",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summarize(test.inspected, test.more)); diff != "" {
				t.Errorf("summarize (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReported(t *testing.T) {
	var all reported
	for _, test := range []string{"TestA", "TestA/sub", "TestAB"} {
		all.add(test, "of "+test)
	}
	if diff := cmp.Diff([]string{"of TestA", "of TestA/sub"}, all.take("TestA")); diff != "" {
		t.Errorf("a test and its subtests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), all.take("TestA")); diff != "" {
		t.Errorf("a further run of the test (-want +got):\n%s", diff)
	}
}

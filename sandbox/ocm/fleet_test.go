package ocm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

func TestNotJoined(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for name, conditions := range map[string][]string{"one": joinedConditions, "two": joinedConditions[:2], "three": nil} {
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, condition := range conditions {
			cluster.Status.Conditions = append(cluster.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
		if err := indexer.Add(cluster); err != nil {
			t.Fatal(err)
		}
	}
	got := notJoined(clusterlisters.NewManagedClusterLister(indexer), []string{"one", "two", "three", "four"})
	if diff := cmp.Diff([]string{
		"two: not yet true: ManagedClusterConditionAvailable",
		"three: not yet true: HubAcceptedManagedCluster, ManagedClusterJoined, ManagedClusterConditionAvailable",
		"four: no ManagedCluster yet",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAbridged(t *testing.T) {
	all := []string{"1", "2", "3", "4", "5"}
	if got, want := abridged(all), "1; 2; 3; 4; 5"; got != want {
		t.Errorf("abridged = %q, want %q", got, want)
	}
	if got, want := abridged(append(all, "6")), "1; 2; 3; 4; 5; and others"; got != want {
		t.Errorf("abridged = %q, want %q", got, want)
	}
	if all[4] != "5" {
		t.Error("abridged has changed its argument")
	}
}

func TestRateFlags(t *testing.T) {
	if diff := cmp.Diff([]string{"--kube-api-qps=400", "--kube-api-burst=800"}, rateFlags(400)); diff != "" {
		t.Error(diff)
	}
	if flags := rateFlags(0); len(flags) > 0 {
		t.Errorf("without a rate: %v, want OCM's default", flags)
	}
}

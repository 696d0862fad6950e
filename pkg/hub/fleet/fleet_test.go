package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func condition(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
}

func cluster(name string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
		Status: clusterv1.ManagedClusterStatus{Conditions: []metav1.Condition{condition("ManagedClusterConditionAvailable", "True", "", "")}}}
}

// addOn is an add-on with the conditions that OCM, addon-framework and the agent write.
func addOn(name string) *addonv1beta1.ManagedClusterAddOn {
	a := &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "helloworld", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	for _, kind := range []string{"Configured", "Progressing", "RegistrationApplied", "ManifestApplied", "Degraded"} {
		a.Status.Conditions = append(a.Status.Conditions, condition(kind, "False", "Completed", strings.Repeat("completed with no errors ", 3)))
	}
	a.Status.Conditions = append(a.Status.Conditions,
		condition("ClusterCertificateRotated", "True", "ClientCertificateUpdated",
			"client certificate rotated starting from 2026-10-25 12:00:00 +0000 UTC to 2026-11-24 12:00:00 +0000 UTC"),
		condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "helloworld add-on is available."),
		condition("ConfigMapsSynced", "True", "Synced", "2 of 2 ConfigMaps synced"))
	return a
}

func source(t testing.TB, clusters []*clusterv1.ManagedCluster, addOns []*addonv1beta1.ManagedClusterAddOn) Source {
	t.Helper()
	clusterStore, addOnStore := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, object := range clusters {
		if err := clusterStore.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range addOns {
		if err := addOnStore.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return Source{AddOns: addonlisters.NewManagedClusterAddOnLister(addOnStore), Clusters: clusterlisters.NewManagedClusterLister(clusterStore),
		Clock: clocktesting.NewFakePassiveClock(now)}
}

// TestCollect: the objects of the caches become series. What the values are is tested in package samples.
func TestCollect(t *testing.T) {
	deleted, refused := addOn("deleted"), cluster("refused")
	at := metav1.NewTime(now.Add(-time.Minute))
	deleted.DeletionTimestamp = &at
	refused.Spec.HubAcceptsClient = false
	s := source(t, []*clusterv1.ManagedCluster{cluster("well"), cluster("deleted"), cluster("without"), refused},
		[]*addonv1beta1.ManagedClusterAddOn{addOn("well"), deleted, addOn("gone"), addOn("refused")})
	s.PerCluster = true
	c := newCollector(s)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	want := `
# HELP helloworld_fleet_cluster_state 1 for the state of each cluster; only with --metrics-per-cluster.
# TYPE helloworld_fleet_cluster_state gauge
helloworld_fleet_cluster_state{cluster="deleted",state="Uninstalling"} 1
helloworld_fleet_cluster_state{cluster="gone",state="NoManagedCluster"} 1
helloworld_fleet_cluster_state{cluster="refused",state="ClusterUnavailable"} 1
helloworld_fleet_cluster_state{cluster="well",state="Synced"} 1
helloworld_fleet_cluster_state{cluster="without",state="NotEnabled"} 1
# HELP helloworld_fleet_in_progress_oldest_seconds For how long the oldest enabling or uninstalling has been in progress; 0 if there is none.
# TYPE helloworld_fleet_in_progress_oldest_seconds gauge
helloworld_fleet_in_progress_oldest_seconds{change="enabling"} 0
helloworld_fleet_in_progress_oldest_seconds{change="uninstalling"} 60
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "helloworld_fleet_cluster_state", "helloworld_fleet_in_progress_oldest_seconds"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("problems %v, error %v", problems, err)
	}
}

// TestRegister: the metrics are among those that the program serves, from Register until remove.
func TestRegister(t *testing.T) {
	served := func() int {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, family := range families {
			if strings.HasPrefix(family.GetName(), "helloworld_fleet_") {
				n++
			}
		}
		return n
	}
	if n := served(); n != 0 {
		t.Errorf("%d metrics of the fleet before this replica leads", n)
	}
	s := source(t, []*clusterv1.ManagedCluster{cluster("a")}, []*addonv1beta1.ManagedClusterAddOn{addOn("a")})
	remove, err := Register(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Register(s); err == nil {
		t.Error("no error when the metrics are registered twice")
	}
	if n := served(); n != 8 {
		t.Errorf("%d metrics of the fleet, want 8", n)
	}
	remove()
	if n := served(); n != 0 {
		t.Errorf("%d metrics of the fleet after the removal", n)
	}
}

const sizeClusters = 5000

func big(t testing.TB) Source {
	t.Helper()
	var clusters []*clusterv1.ManagedCluster
	var addOns []*addonv1beta1.ManagedClusterAddOn
	for i := range sizeClusters {
		name := fmt.Sprintf("cluster%d", i)
		clusters, addOns = append(clusters, cluster(name)), append(addOns, addOn(name))
	}
	return source(t, clusters, addOns)
}

// BenchmarkScrape is one scrape of 5,000 clusters: the aim is 100 ms.
func BenchmarkScrape(b *testing.B) {
	for _, perCluster := range []bool{false, true} {
		b.Run(fmt.Sprintf("perCluster=%t", perCluster), func(b *testing.B) {
			s := big(b)
			s.PerCluster = perCluster
			registry := prometheus.NewRegistry()
			registry.MustRegister(newCollector(s))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := registry.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package replicaset

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

var (
	fleetClusters = flag.Int("clusters", 500, "how many clusters TestHeap has")
	fleetSets     = flag.Int("sets", 20, "how many sets TestHeap has, each on every cluster")
)

// fleet is a controller whose caches are filled as a hub's list fills them: each set has delivered one ConfigMap with
// content of its own to each cluster, and each cluster reports all of them as synced.
type fleet struct {
	*Controller
	t        testing.TB
	at       time.Time
	clusters []string
	serial   int
}

func newFleet(t testing.TB, clusters, sets int) *fleet {
	t.Helper()
	api, err := newClients(&rest.Config{Host: "http://127.0.0.1:1"}) // no request is sent
	if err != nil {
		t.Fatal(err)
	}
	k, err := newCaches(api)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	f := &fleet{Controller: newController(api, k, nil, clocktesting.NewFakeClock(at), 10*time.Minute), t: t, at: at}
	for i := range clusters {
		f.clusters = append(f.clusters, fmt.Sprintf("cluster%04d", i))
	}
	f.place()
	var all []*v1alpha1.ConfigMapReplicaSet
	for i := range sets {
		all = append(all, f.set(i))
	}
	for _, cluster := range f.clusters {
		f.join(cluster, all)
	}
	return f
}

// meta returns the metadata of an object. No string is shared, as after decoding.
func (f *fleet) meta(namespace, name string) metav1.ObjectMeta {
	f.serial++
	return metav1.ObjectMeta{Namespace: strings.Clone(namespace), Name: strings.Clone(name), ResourceVersion: fmt.Sprint(40_000_000 + f.serial),
		UID: types.UID(fmt.Sprintf("%08x-7c9d-4a8e-9d59-%012x", f.serial, f.serial)), CreationTimestamp: metav1.NewTime(f.at)}
}

func (f *fleet) add(informer cache.SharedIndexInformer, transform cache.TransformFunc, object any) {
	slim, err := transform(object)
	if err == nil {
		err = informer.GetStore().Add(slim)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// place makes the Placement that selects every cluster.
func (f *fleet) place() {
	placement := &clusterv1beta1.Placement{ObjectMeta: f.meta("team", "everywhere")}
	placement.Status.Conditions = []metav1.Condition{{Type: "PlacementSatisfied", Status: metav1.ConditionTrue}}
	placement.Status.NumberOfSelectedClusters = int32(len(f.clusters))
	group := clusterv1beta1.DecisionGroupStatus{ClustersCount: int32(len(f.clusters))}
	for from := 0; from < len(f.clusters); from += 100 {
		decision := &clusterv1beta1.PlacementDecision{ObjectMeta: f.meta("team", fmt.Sprintf("everywhere-decision-%d", from/100))}
		decision.Labels = map[string]string{clusterv1beta1.PlacementLabel: "everywhere"}
		for _, cluster := range f.clusters[from:min(from+100, len(f.clusters))] {
			decision.Status.Decisions = append(decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: strings.Clone(cluster)})
		}
		group.Decisions = append(group.Decisions, decision.Name)
		f.add(f.caches.decisions, withoutFields, decision)
	}
	placement.Status.DecisionGroups = []clusterv1beta1.DecisionGroupStatus{group}
	f.add(f.caches.placements, withoutFields, placement)
}

// set adds a set with its revision, as after a rollout.
func (f *fleet) set(i int) *v1alpha1.ConfigMapReplicaSet {
	set := &v1alpha1.ConfigMapReplicaSet{ObjectMeta: f.meta("team", fmt.Sprintf("settings-%02d", i))}
	set.Generation, set.Finalizers = 1, []string{manifests.ReplicaSetFinalizer}
	set.Spec.ConfigMaps = []v1alpha1.ConfigMapReference{{Name: fmt.Sprintf("config-%02d", i)}}
	set.Spec.PlacementRefs = []v1alpha1.PlacementReference{{Name: "everywhere"}}
	set.Spec.Values = []v1alpha1.Value{{Name: "REGION", Label: "region"}, {Name: "URL", Expression: "'https://' + cluster.metadata.name + '.example.com'"}}
	s := f.stateOf(set)
	source := render.Content{Name: set.Spec.ConfigMaps[0].Name, Data: map[string]string{"url": "$(URL)", "text": strings.Repeat("$(REGION) ", 100)}}
	s.contents.desired = s.contents.desiredOf(render.NewRevision([]render.Content{source}, set.Spec.Values))
	name := s.contents.desired.name
	set.Status.CurrentRevision, set.Status.UpdatedRevision = name, name
	revision := &appsv1.ControllerRevision{ObjectMeta: f.meta("team", revisionName(set, name)), Revision: 1}
	revision.Labels = map[string]string{manifests.ReplicaSetUIDLabel: string(set.UID), manifests.RevisionAnnotation: name}
	revision.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.GroupVersion.WithKind("ConfigMapReplicaSet"))}
	f.add(f.caches.revisions, slimRevision, revision)
	f.add(f.caches.sets, withoutFields, set)
	return set
}

// join adds a cluster that has what each set delivers, and reports it.
func (f *fleet) join(name string, sets []*v1alpha1.ConfigMapReplicaSet) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: f.meta("", name)}
	cluster.Labels, cluster.Annotations = map[string]string{}, map[string]string{}
	for _, key := range []string{"region", "vendor", "cloud", "feature.open-cluster-management.io/addon-helloworld", "environment"} {
		cluster.Labels[strings.Clone(key)] = "some-" + name
	}
	cluster.Annotations["open-cluster-management/created-via"] = strings.Clone("other")
	cluster.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://api." + name + ".example.com:6443", CABundle: make([]byte, 2000)}}
	for _, claim := range []string{"id.k8s.io", "kubeversion.open-cluster-management.io", "platform.open-cluster-management.io", "product.open-cluster-management.io"} {
		cluster.Status.ClusterClaims = append(cluster.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: strings.Clone(claim), Value: "value-" + name})
	}
	f.add(f.caches.clusters, slimCluster, cluster)
	f.add(f.caches.addOns, slimMetadata, &metav1.PartialObjectMetadata{ObjectMeta: f.meta(name, manifests.AddonName)})
	f.add(f.caches.names, slimMetadata, &metav1.PartialObjectMetadata{ObjectMeta: f.meta(name, "of-others")})
	mirror := &v1alpha1.ConfigMapMirror{ObjectMeta: f.meta(name, manifests.AddonName), Status: &v1alpha1.ConfigMapMirrorStatus{}}
	for _, set := range sets {
		configMap := f.deliver(cluster, set)
		mirror.Status.ConfigMaps = append(mirror.Status.ConfigMaps, v1alpha1.MirroredConfigMap{Name: strings.Clone(configMap.Name),
			Revision: strings.Clone(set.Status.UpdatedRevision), State: v1alpha1.MirrorState(strings.Clone("Synced")), Since: metav1.NewTime(f.at)})
	}
	f.add(f.caches.mirrors, slimMirror, mirror)
}

// deliver adds what a set delivers to a cluster, and the record of that write.
func (f *fleet) deliver(cluster *clusterv1.ManagedCluster, set *v1alpha1.ConfigMapReplicaSet) *corev1.ConfigMap {
	s, revision := f.stateOf(set), set.Status.UpdatedRevision
	name := set.Spec.ConfigMaps[0].Name
	hash := s.contents.of(cluster, revision).Hashes[name]
	content, _ := s.contents.configMap(cluster, revision, name, hash)
	planned := plan.Write{Cluster: cluster.Name, Name: name, Revision: strings.Clone(revision), Since: f.at, Content: hash}
	configMap := newConfigMap(set, planned, content, nil)
	configMap.Labels[manifests.ReplicaSetUIDLabel] = strings.Clone(string(set.UID))
	marked := f.meta(cluster.Name, name)
	marked.Labels, marked.Annotations = configMap.Labels, configMap.Annotations
	configMap.ObjectMeta = marked
	f.add(f.caches.delivered, slimDelivered, configMap)
	s.recent.record(strings.Clone(cluster.Name), strings.Clone(name), write{at: f.at, object: plan.NewObject(configMap, hash)})
	return configMap
}

// plan plans for a set as reconcile does. It fails the test if something is left to do.
func (f *fleet) plan(key types.NamespacedName) {
	set := get[*v1alpha1.ConfigMapReplicaSet](f.caches.sets, key.Namespace, key.Name)
	in, _, err := f.gather(f.t.Context(), f.stateOf(set), set)
	if err != nil {
		f.t.Fatal(err)
	}
	if result := plan.Plan(in); len(result.Writes) > 0 || result.StoreRevision != nil || int(result.Status.Summary.Synced) != len(f.clusters) {
		f.t.Fatalf("%s: %d writes, %+v: everything was delivered", key, len(result.Writes), result.Status.Summary)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what package unique no longer needs goes with the second one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestHeap measures what the controller holds when every set has delivered to every cluster. For the largest fleet that
// one controller is made for: go test ./pkg/hub/replicaset -run TestHeap -v -clusters 5000 -sets 100.
func TestHeap(t *testing.T) {
	// bytes: 290 MiB for 5,000 clusters and 100 sets, for which 300 are planned
	const fixed, perCluster, perConfigMap = 2 << 20, 3500, 570
	before := heap()
	f := newFleet(t, *fleetClusters, *fleetSets)
	for key := range f.states {
		f.plan(key)
	}
	size := heap() - before
	configMaps := int64(len(f.clusters) * len(f.states))
	t.Logf("%d clusters, %d sets: %d MiB, %d bytes for each ConfigMap", len(f.clusters), len(f.states), size>>20, size/configMaps)
	if most := fixed + perCluster*int64(len(f.clusters)) + perConfigMap*configMaps; size > most {
		t.Errorf("%d bytes, at most %d are planned for", size, most)
	}
	runtime.KeepAlive(f)
}

// BenchmarkPlan plans once for a set on 5,000 clusters of which one has reported.
func BenchmarkPlan(b *testing.B) {
	f := newFleet(b, 5000, 1)
	for key := range f.states {
		f.plan(key)
		b.ReportAllocs()
		for b.Loop() {
			f.plan(key)
		}
	}
}

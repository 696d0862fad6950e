// Package plan decides what "kubectl helloworld diff" prints: what applying ConfigMaps and ConfigMapReplicaSets would change on
// which cluster. Its functions take objects and return texts; the caller reads the hub.
//
//	files ── NewFile ──► File ── NewApply ──► the API server's dry run ──┐
//	                                                                    ▼
//	ConfigMapReplicaSets, sources, Placements, ManagedClusters,       Facts ── New ──► Report
//	their add-ons, ConfigMapMirrors, ConfigMaps of sets ────────────────┘
//
// What sets do is not decided here. The ConfigMaps in the clusters' namespaces are kept in a hub in memory. The ConfigMaps of
// the file are written there, and then the writes that the plan of the controller of ConfigMapReplicaSets wants, without steps
// and pauses, until it wants none. The diff is between that hub before and after.
//
// Two kinds of sets are planned: those that the file changes, and those that have to yield a ConfigMap to one of them.
package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	mirrorplan "open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// Facts are everything that the diff depends on.
type Facts struct {
	File File
	// ConfigMaps are those of the file.
	ConfigMaps map[Key]*ConfigMap
	// Sets are all sets of the hub, and those of the file.
	Sets []*Set
	// Sources are those ConfigMaps of SourceKeys that are on the hub.
	Sources map[Key]*corev1.ConfigMap
	// Placements are those of PlacementKeys.
	Placements map[Key]hubplan.Placement
	// Objects are the ConfigMaps in the clusters' namespaces that carry the UID of a set that the file changes, or have the name
	// of one of its sources.
	Objects []Object
	// Clusters are those of ClusterNames.
	Clusters map[string]*Cluster
	// The parts of a hub that could be read.
	SetsRead, ClustersRead, AddOnsRead, ObjectsRead bool
	NotRead                                         []NotRead
	Chosen                                          Chosen
	Now                                             time.Time
}

// ConfigMap is a ConfigMap of the file. Live is as it is on the hub, or nil, and After as it is once the file is applied.
type ConfigMap struct {
	Key
	Live, After *corev1.ConfigMap
	// Failure is why After is not known; it is nil then.
	Failure *Failure
}

// Failure is why it is not known what applying an object makes of it.
type Failure struct{ Reason, Message string }

// Set is a ConfigMapReplicaSet. Live is as it is on the hub, or nil, and After as it is once the file is applied, or as Live.
type Set struct {
	Key
	Live, After *v1alpha1.ConfigMapReplicaSet
	InFile      bool
	Failure     *Failure

	// before and after are what the set delivers; Decide sets them.
	before, after revision
	changed       bool
}

// Object is a ConfigMap in the namespace of a cluster.
type Object struct {
	hubplan.Object
	Contents *render.Content
	OptedOut bool
}

// NewObject returns the object of a ConfigMap.
func NewObject(configMap *corev1.ConfigMap) Object {
	content := render.ContentOf(configMap)
	// Without the data, which it would hash.
	source := mirrorplan.NewSource(&corev1.ConfigMap{ObjectMeta: configMap.ObjectMeta})
	return Object{Object: hubplan.NewObject(configMap, content.Sum()), Contents: &content, OptedOut: source.OptedOut}
}

// Cluster is what the hub knows of a cluster.
type Cluster struct {
	// Managed is nil if there is no ManagedCluster, or it could not be read.
	Managed *clusterv1.ManagedCluster
	// HasAddOn reports whether there is a ManagedClusterAddOn, Deleting whether it is being deleted.
	HasAddOn, Deleting bool
	// Reports are what the agent reports in the ConfigMapMirror, by name.
	Reports map[string]v1alpha1.MirroredConfigMap
	// OfSets is how many ConfigMaps of sets the agent reports, at least.
	OfSets int
}

// Report adds the report of the agent.
func (c *Cluster) Report(status *v1alpha1.ConfigMapMirrorStatus) {
	c.Reports = make(map[string]v1alpha1.MirroredConfigMap, len(status.ConfigMaps))
	for _, entry := range status.ConfigMaps {
		c.Reports[entry.Name] = entry
		if entry.Revision != "" {
			c.OfSets++
		}
	}
}

// Chosen are the clusters that the diff is narrowed to. The zero value is all.
type Chosen struct {
	Names    []string
	Selector labels.Selector
}

func (c Chosen) has(name string, cluster *Cluster) bool {
	if len(c.Names) > 0 {
		return slices.Contains(c.Names, name)
	}
	if c.Selector == nil || c.Selector.Empty() {
		return true
	}
	return cluster != nil && cluster.Managed != nil && c.Selector.Matches(labels.Set(cluster.Managed.Labels))
}

// NotRead is what could not be read of the hub.
type NotRead struct {
	Resource string `json:"resource"`
	Error    string `json:"error"`
	// Lacks is what is not known without it.
	Lacks string `json:"lacks"`
}

// planner holds the facts and intermediate results of one diff.
type planner struct {
	*Facts
	changed []*Set
	// before and after are the ConfigMaps in the clusters' namespaces, applied those when the controller begins.
	before, applied, after hub
	findings               findings
	// concerned are the clusters that the file is about, placed those that a Placement selects.
	concerned, placed map[string]bool
	changes           []change
}

// New returns what applying the file would change. Decide was called before.
func New(facts *Facts) *Report {
	p := &planner{Facts: facts, concerned: map[string]bool{}, placed: map[string]bool{}, findings: findings{}}
	for _, set := range facts.Sets {
		if set.changed {
			p.changed = append(p.changed, set)
			maps.Copy(p.placed, facts.selects(set.After))
			maps.Copy(p.placed, facts.selects(set.Live))
		}
	}
	p.before = newHub(facts.Objects)
	p.estimate()
	p.after = p.before.clone()
	for _, key := range slices.SortedFunc(maps.Keys(p.ConfigMaps), compareKeys) {
		p.configMap(p.ConfigMaps[key])
	}
	p.applied = p.after.clone()
	p.simulate()
	p.explainSets()
	p.compare()
	return p.report()
}

// hub is a hub in memory: the ConfigMaps in the clusters' namespaces, by cluster and name.
type hub map[string]map[string]Object

func newHub(objects []Object) hub {
	h := hub{}
	for _, object := range objects {
		h.put(object)
	}
	return h
}

func (h hub) put(object Object) {
	if h[object.Cluster] == nil {
		h[object.Cluster] = map[string]Object{}
	}
	h[object.Cluster][object.Name] = object
}

func (h hub) clone() hub {
	cloned := make(hub, len(h))
	for cluster, objects := range h {
		cloned[cluster] = maps.Clone(objects)
	}
	return cloned
}

// delivered returns what the cluster's agent copies of the object, or nil (docs/design.md#rule-1-source).
func (h hub) delivered(cluster, name string) *render.Content {
	object, exists := h[cluster][name]
	if !exists || object.OptedOut || mirrorplan.Excluded(name) {
		return nil
	}
	return object.Contents
}

// isCluster reports whether a namespace is that of a managed cluster. Where ManagedClusters could not be read, it is one that
// has the add-on.
func (f *Facts) isCluster(name string) bool {
	cluster := f.Clusters[name]
	return cluster != nil && (cluster.Managed != nil || !f.ClustersRead && cluster.HasAddOn)
}

// isCluster reports the same. A cluster that a Placement selects is one, too.
func (p *planner) isCluster(name string) bool {
	return p.Facts.isCluster(name) || !p.ClustersRead && p.placed[name]
}

// Skips reports whether a namespace is that of a cluster that the diff leaves out.
func (f *Facts) Skips(namespace string) bool {
	return f.isCluster(namespace) && !f.Chosen.has(namespace, f.Clusters[namespace])
}

// enabled reports whether the add-on is enabled on a cluster. Where that could not be read, it is.
func (p *planner) enabled(name string) bool {
	cluster := p.Clusters[name]
	if cluster == nil || !cluster.HasAddOn {
		return !p.AddOnsRead
	}
	return !cluster.Deleting
}

// managed returns a ManagedCluster; one that does not exist has a name only, as for the controller.
func (p *planner) managed(name string) *clusterv1.ManagedCluster {
	if cluster := p.Clusters[name]; cluster != nil && cluster.Managed != nil {
		return cluster.Managed
	}
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

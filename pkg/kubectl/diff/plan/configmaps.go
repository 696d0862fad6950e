package plan

import (
	"fmt"
	"slices"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	mirrorplan "open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// configMap writes a ConfigMap of the file into the hub in memory, and finds what keeps it from its cluster.
func (p *planner) configMap(c *ConfigMap) {
	isCluster := p.isCluster(c.Namespace)
	switch {
	case p.Skips(c.Namespace):
		return
	case c.Failure != nil:
		p.findings.add(Incomplete, c.Failure.Reason, fmt.Sprintf("ConfigMap %s: %s", c.Key, c.Failure.Message))
	case !isCluster:
		p.withoutCluster(c)
	}
	if c.Live != nil && isCluster {
		p.before.put(NewObject(c.Live))
		p.after.put(NewObject(c.Live))
	}
	if c.Failure != nil || !isCluster {
		return
	}
	p.concerned[c.Namespace] = true
	object := NewObject(c.After)
	changes := c.Live == nil || object.Content != render.ContentOf(c.Live).Sum()
	if owner := p.owner(c); owner != "" {
		if changes {
			p.findings.add(Blocked, "OwnedBySet", fmt.Sprintf("ConfigMap %s belongs to ConfigMapReplicaSet %s, which writes it again: change its source there", c.Name, owner), c.Namespace)
		}
		return
	}
	p.after.put(object)
	p.excluded(c, object)
}

// excluded finds why the agent of the cluster does not copy a ConfigMap.
func (p *planner) excluded(c *ConfigMap, object Object) {
	switch {
	case mirrorplan.Excluded(c.Name):
		p.findings.add(Note, "Excluded", fmt.Sprintf("ConfigMap %s: the add-on never copies a ConfigMap of this name", c.Name), c.Namespace)
	case object.OptedOut:
		p.findings.add(Note, "Excluded", fmt.Sprintf("ConfigMap %s has the label %s: %s, so it is not copied", c.Name, manifests.SyncLabel, manifests.SyncDisabled), c.Namespace)
	case !p.enabled(c.Namespace):
		reason, message := p.disabled(c.Namespace)
		p.findings.add(Note, reason, fmt.Sprintf("ConfigMap %s is not copied: %s", c.Name, message), c.Namespace)
	case c.After.DeletionTimestamp != nil:
		p.findings.add(Note, "Deleting", fmt.Sprintf("ConfigMap %s is being deleted, and a finalizer keeps it: its copy is deleted with it", c.Name), c.Namespace)
	}
}

// disabled returns why the add-on does nothing on a cluster.
func (p *planner) disabled(cluster string) (reason, message string) {
	if known := p.Clusters[cluster]; known != nil && known.Deleting {
		return "Uninstalling", "the add-on is being disabled there"
	}
	return "NotEnabled", "the add-on is not enabled there"
}

// withoutCluster finds that no cluster gets a ConfigMap of the file.
func (p *planner) withoutCluster(c *ConfigMap) {
	isSource := slices.ContainsFunc(p.Sets, func(set *Set) bool {
		return set.After != nil && set.Namespace == c.Namespace && slices.Contains(sourceNames(set.After), c.Name)
	})
	switch {
	case isSource:
	case !p.ClustersRead:
		p.findings.add(Incomplete, "ClusterNotRead", fmt.Sprintf("ConfigMap %s: it is not known whether there is a cluster %s: neither its ManagedCluster nor its add-on could be read",
			c.Key, c.Namespace))
	case !p.SetsRead:
		p.findings.add(Incomplete, "NoCluster", fmt.Sprintf("ConfigMap %s: there is no ManagedCluster %s, and it is not known whether the ConfigMap is a source of a ConfigMapReplicaSet",
			c.Key, c.Namespace))
	default:
		p.findings.add(Note, "NoCluster", fmt.Sprintf("ConfigMap %s: no cluster gets it, because there is no ManagedCluster %s, and no ConfigMapReplicaSet of that namespace has this source",
			c.Key, c.Namespace))
	}
}

// owner returns the set that writes the ConfigMap, or an empty string. One that is left of a former set has no owner.
func (p *planner) owner(c *ConfigMap) string {
	if c.Live == nil {
		return ""
	}
	object := NewObject(c.Live)
	if object.ManagedBy != manifests.ManagedByReplicaSet || object.Set == "" || object.SetUID == "" {
		return ""
	}
	if !p.SetsRead {
		return object.Set
	}
	for _, set := range p.Sets {
		if set.Live != nil && set.Live.DeletionTimestamp == nil && object.Owned(set.Live) {
			return object.Set
		}
	}
	return ""
}

// change is a change of one copy. before and after are what the cluster has, or nil.
type change struct {
	cluster, name string
	before, after *render.Content
	// sums are the hashes of the two, empty for nil.
	sums [2]string
	// set is the set that writes the ConfigMap, or empty.
	set string
}

// compare finds the copies that change between the two hubs, and those that something keeps from changing.
func (p *planner) compare() {
	clusters := map[string]bool{}
	for cluster := range p.before {
		clusters[cluster] = true
	}
	for cluster := range p.after {
		clusters[cluster] = true
	}
	for _, cluster := range sorted(clusters) {
		if !p.isCluster(cluster) || !p.Chosen.has(cluster, p.Clusters[cluster]) {
			continue
		}
		names := map[string]bool{}
		for name := range p.before[cluster] {
			names[name] = true
		}
		for name := range p.after[cluster] {
			names[name] = true
		}
		for _, name := range sorted(names) {
			p.compareOne(cluster, name)
		}
	}
}

func (p *planner) compareOne(cluster, name string) {
	c := change{cluster: cluster, name: name, before: p.before.delivered(cluster, name), after: p.after.delivered(cluster, name)}
	for _, hub := range []hub{p.before, p.after} {
		if object := hub[cluster][name]; object.SetUID != "" {
			c.set = object.Set
		}
	}
	if c.before != nil {
		c.sums[0] = p.before[cluster][name].Content
	}
	if c.after != nil {
		c.sums[1] = p.after[cluster][name].Content
	}
	same := c.sums[0] == c.sums[1]
	if !p.reported(c, same) || same {
		return
	}
	if !p.enabled(cluster) {
		return // configMap or explainSimulated has found that
	}
	if c.before != nil && c.after != nil && c.before.Immutable {
		p.findings.add(Note, "Replaced", fmt.Sprintf("ConfigMap %s is immutable: its copy is deleted and created again", name), cluster)
	}
	p.changes = append(p.changes, c)
}

// reported finds what the agent reports about a copy. It reports whether a change reaches the cluster.
func (p *planner) reported(c change, same bool) bool {
	known := p.Clusters[c.cluster]
	if known == nil || !p.enabled(c.cluster) || same && p.ConfigMaps[Key{Namespace: c.cluster, Name: c.name}] == nil {
		return true
	}
	report, ok := known.Reports[c.name]
	if !ok {
		return true
	}
	message := fmt.Sprintf("ConfigMap %s: the agent reports %s: %s", c.name, report.State, report.Message)
	switch report.State {
	case v1alpha1.MirrorConflict:
		effect := Blocked
		if same || c.after == nil {
			effect = Note
		}
		p.findings.add(effect, string(report.State), message, c.cluster)
		return false
	case v1alpha1.MirrorFailed, v1alpha1.MirrorContested:
		p.findings.add(Note, string(report.State), message, c.cluster)
	}
	return true
}

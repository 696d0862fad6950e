package plan

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Report is the answer.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Changes reports whether a copy changes, or a change does not reach a cluster.
	Changes bool `json:"changes"`
	// Complete reports whether no part of the answer is missing.
	Complete bool   `json:"complete"`
	Totals   Totals `json:"totals"`
	// Groups are clusters with the same changes, the largest group first.
	Groups   []Group   `json:"groups"`
	Findings []Finding `json:"findings"`
	// NotConsidered are the numbers of objects of other kinds in the files.
	NotConsidered map[string]int `json:"notConsidered,omitempty"`
	NotRead       []NotRead      `json:"notRead,omitempty"`
}

// Totals count.
type Totals struct {
	// Clusters are those that the files are about. Changed of them change, and Blocked of them do not get a change.
	Clusters int `json:"clusters"`
	Changed  int `json:"changed"`
	Blocked  int `json:"blocked"`
	// The copies on all clusters.
	Created int `json:"created"`
	Updated int `json:"updated"`
	Removed int `json:"removed"`
}

// Group are clusters with the same changes.
type Group struct {
	Clusters   []string `json:"clusters"`
	ConfigMaps []Change `json:"configMaps"`
	// Context reports that the unchanged lines of the diffs are those of the first cluster, and differ on others.
	Context bool `json:"contextOfFirst,omitempty"`
}

// Change is the change of one copy.
type Change struct {
	Name string `json:"name"`
	// Action is created, updated or removed.
	Action string `json:"action"`
	// Set is the NAMESPACE/NAME of the ConfigMapReplicaSet that writes it.
	Set string `json:"set,omitempty"`
	// Diff is a unified diff.
	Diff string `json:"diff"`
}

const (
	created = "created"
	updated = "updated"
	removed = "removed"
)

func (p *planner) report() *Report {
	p.tooMany()
	r := &Report{TypeMeta: metav1.TypeMeta{Kind: "Diff", APIVersion: "diff.helloworld.open-cluster-management.io/v1alpha1"},
		NotConsidered: p.File.Others, NotRead: p.NotRead, Findings: p.findings.list(), Complete: true}
	blocked := map[string]bool{}
	for _, f := range r.Findings {
		r.Complete = r.Complete && f.Effect != Incomplete
		r.Changes = r.Changes || f.Effect == Blocked
		for _, cluster := range f.Clusters {
			blocked[cluster] = blocked[cluster] || f.Effect == Blocked
			p.concerned[cluster] = p.concerned[cluster] || f.Effect == Blocked
		}
	}
	changed := map[string]bool{}
	for _, c := range p.changes {
		changed[c.cluster], p.concerned[c.cluster], r.Changes = true, true, true
	}
	for _, is := range blocked {
		if is {
			r.Totals.Blocked++
		}
	}
	for _, is := range p.concerned {
		if is {
			r.Totals.Clusters++
		}
	}
	r.Totals.Changed = len(changed)
	r.Groups = r.groups(p.changes)
	return r
}

// groups returns the clusters by their changes, and counts these. The changes of a cluster are one after the other.
func (r *Report) groups(changes []change) []Group {
	groups := []Group{}
	index := map[string]int{}
	differ := newDiffer()
	for len(changes) > 0 {
		end := slices.IndexFunc(changes, func(c change) bool { return c.cluster != changes[0].cluster })
		if end < 0 {
			end = len(changes)
		}
		own := Group{Clusters: []string{changes[0].cluster}}
		var keys []string
		for _, c := range changes[:end] {
			one, key := differ.diff(c)
			own.ConfigMaps, keys = append(own.ConfigMaps, one), append(keys, key)
			r.Totals.count(one.Action)
		}
		changes = changes[end:]
		key := strings.Join(keys, "\x00")
		i, known := index[key]
		if !known {
			index[key] = len(groups)
			groups = append(groups, own)
			continue
		}
		group := &groups[i]
		group.Clusters = append(group.Clusters, own.Clusters[0])
		group.Context = group.Context || !slices.Equal(group.ConfigMaps, own.ConfigMaps)
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(len(b.Clusters), len(a.Clusters)), cmp.Compare(a.Clusters[0], b.Clusters[0]))
	})
	return groups
}

func (t *Totals) count(action string) {
	switch action {
	case created:
		t.Created++
	case updated:
		t.Updated++
	case removed:
		t.Removed++
	}
}

// differ makes diffs, each of two contents once.
type differ struct {
	known map[[4]string]Change
	keys  map[[4]string]string
}

func newDiffer() *differ { return &differ{map[[4]string]Change{}, map[[4]string]string{}} }

// diff returns the change of a copy, and the lines of its diff that change.
func (d *differ) diff(c change) (Change, string) {
	id := [4]string{c.name, c.set, c.sums[0], c.sums[1]}
	if one, ok := d.known[id]; ok {
		return one, d.keys[id]
	}
	one := Change{Name: c.name, Set: c.set, Diff: unified(c)}
	switch {
	case c.before == nil:
		one.Action = created
	case c.after == nil:
		one.Action = removed
	default:
		one.Action = updated
	}
	d.known[id], d.keys[id] = one, changedLines(one.Diff)
	return one, d.keys[id]
}

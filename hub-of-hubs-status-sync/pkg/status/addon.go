package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Conditions of a ManagedClusterAddOn, and the reason of a conflict with the
// ConfigMap of another owner.
const (
	conditionAvailable = "Available"
	reasonConflict     = "Conflict"
)

// managedClusterAddOn has the used fields of a ManagedClusterAddOn on a leaf hub.
type managedClusterAddOn struct {
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// tally counts clusters.
type tally struct{ clusters, available, synced, conflicts int64 }

func (t *tally) add(other tally) {
	t.clusters += other.clusters
	t.available += other.available
	t.synced += other.synced
	t.conflicts += other.conflicts
}

func (t tally) json() map[string]any {
	return map[string]any{"clusters": t.clusters, "available": t.available, "configMapsSynced": t.synced, "conflicts": t.conflicts}
}

// aggregateAddOn returns the AddOnSummary: the number of clusters on which the
// add-on is enabled, is available, has every ConfigMap synced, and has conflicts,
// of all hubs and of each. Of a stale hub only clusters and conflicts count.
func aggregateAddOn(rows Rows, _ int) ([]Desired, error) {
	all, err := decodeAll[managedClusterAddOn](rows)
	if err != nil {
		return nil, err
	}
	var total tally
	perHub := map[string]*tally{}
	for _, row := range all {
		if perHub[row.hub] == nil {
			perHub[row.hub] = &tally{}
		}
		one := countAddOn(row)
		total.add(one)
		perHub[row.hub].add(one)
	}
	names := make([]string, 0, len(perHub))
	for name := range perHub {
		names = append(names, name)
	}
	slices.Sort(names)
	hubs := make([]any, 0, len(names))
	for _, name := range names {
		entry := perHub[name].json()
		_, stale := rows.Stale[name]
		entry["name"], entry["stale"] = name, stale
		hubs = append(hubs, entry)
	}
	fields := []Field{{Path: []string{"status", "hubs"}, Value: hubs}}
	for name, value := range total.json() {
		fields = append(fields, Field{Path: []string{"status", name}, Value: value})
	}
	slices.SortFunc(fields, func(a, b Field) int { return slices.Compare(a.Path, b.Path) })
	return []Desired{{Name: rows.Name, Fields: fields}}, nil
}

// countAddOn returns the counts of a group of equal add-ons.
func countAddOn(row decoded[managedClusterAddOn]) tally {
	one := tally{clusters: row.count}
	for _, condition := range row.object.Status.Conditions {
		isTrue := condition.Status == metav1.ConditionTrue && !row.stale
		switch condition.Type {
		case conditionAvailable:
			if isTrue {
				one.available = row.count
			}
		case manifests.ConditionConfigMapsSynced:
			if isTrue {
				one.synced = row.count
			}
			if condition.Status == metav1.ConditionFalse && condition.Reason == reasonConflict {
				one.conflicts = row.count
			}
		}
	}
	return one
}

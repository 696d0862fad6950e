package mirror

import "time"

// Summary counts the ConfigMaps on the hub that have to be copied, and says
// what keeps the others from being in sync.
type Summary struct {
	// Wanted is how many have to be copied: not those that opted out, and none
	// of an excluded name.
	Wanted int
	// Synced of these are, as far as both sides are known.
	Synced int
	// Pending are about to be written.
	Pending int
	// Conflicts of these names are somebody else's ConfigMaps, sorted.
	Conflicts []string
	// Failed are what could not be written or removed, sorted by name. They
	// may include copies whose source is gone.
	Failed []Failure
	// Contested are the copies that another writer keeps changing back, sorted by
	// name. They count neither as synced nor as pending.
	Contested []Failure
	// Held are the copies, sorted, whose deletion is held until HeldUntil.
	Held      []string
	HeldUntil time.Time
	// SameNamespace says that there is nothing to copy, because source and
	// copy would be one object.
	SameNamespace bool
}

// Summarize counts what both sides hold. The failures, and what is contested,
// are sorted by name.
func Summarize(relation Relation, sources []*Source, target func(name string) *Copy, failures, contested []Failure) Summary {
	summary := Summary{SameNamespace: relation == Same, Contested: contested}
	failed, fought := map[string]bool{}, map[string]bool{}
	for _, failure := range contested {
		fought[failure.Name] = true
	}
	for _, failure := range failures {
		if failure.Kind == Conflict {
			summary.Conflicts = append(summary.Conflicts, failure.Name)
		} else {
			summary.Failed = append(summary.Failed, failure)
		}
		failed[failure.Name] = true
	}
	if summary.SameNamespace {
		return summary
	}
	for _, source := range sources {
		if source.OptedOut || Excluded(source.Name) {
			continue
		}
		summary.Wanted++
		switch kind := KindOf(relation, source.Name, source, target(source.Name)); {
		case fought[source.Name]:
		case kind == InSync:
			summary.Synced++
		case !failed[source.Name]:
			summary.Pending++
		}
	}
	return summary
}

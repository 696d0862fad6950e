package plan

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/text"
)

// Limits of the status of a ConfigMapMirror. Its CRD has them, too.
const (
	maxEntries  = 500
	maxMessage  = 256
	maxRevision = 63
)

// MirrorStatus returns the status of the cluster's ConfigMapMirror. It lists the sources that
// carry a revision or are not in sync, and counts all (docs/design.md#rule-12-mirror-status).
// It sorts sources. troubles are what [Book.Troubles] returned before the sources were read. before are the entries
// of the previous status: an entry with the same state and revision keeps its time.
func (s Scope) MirrorStatus(troubles Summary, sources []*Source, target func(name string) *Copy,
	before []v1alpha1.MirroredConfigMap, now time.Time) v1alpha1.ConfigMapMirrorStatus {
	failed, contested := byFailureName(troubles.Failed), byFailureName(troubles.Contested)
	slices.SortFunc(sources, func(a, b *Source) int { return strings.Compare(a.Name, b.Name) })
	var status v1alpha1.ConfigMapMirrorStatus
	var synced, plain []v1alpha1.MirroredConfigMap
	for _, source := range sources {
		if source.OptedOut || Excluded(source.Name) {
			continue
		}
		status.Total++
		entry := v1alpha1.MirroredConfigMap{Name: source.Name, Revision: source.Revision}
		entry.State, entry.Message = s.stateOf(source, target(source.Name), failed[source.Name], contested[source.Name])
		if entry.State == v1alpha1.MirrorSynced {
			status.Synced++
		}
		switch {
		case entry.Revision == "" && entry.State != v1alpha1.MirrorSynced:
			plain = append(plain, entry)
		case entry.Revision == "":
		case entry.State == v1alpha1.MirrorSynced:
			synced = append(synced, entry)
		default:
			status.ConfigMaps = append(status.ConfigMaps, entry)
		}
	}
	// A rollout depends on those with a revision: others must not take their place.
	status.ConfigMaps = slices.Concat(status.ConfigMaps, synced, plain)
	if more := len(status.ConfigMaps) - maxEntries; more > 0 {
		status.ConfigMaps, status.Omitted = slices.Clone(status.ConfigMaps[:maxEntries]), int32(more)
	}
	setSince(status.ConfigMaps, before, now)
	return status
}

// stateOf returns the state of one source and its explanation. A failure or a contest counts only
// if it is about the content that the source has now: a report on a former revision must not pass
// as one on the present revision.
func (s Scope) stateOf(source *Source, target *Copy, failed, contested Failure) (v1alpha1.MirrorState, string) {
	want := wantedOf(source)
	switch kind := Decide(source.Name, source, target); {
	case contested.want == want:
		return v1alpha1.MirrorContested, text.Shorten(contested.Reason, maxMessage)
	case kind == InSync:
		return v1alpha1.MirrorSynced, ""
	case kind == Conflict:
		return v1alpha1.MirrorConflict, text.Shorten(s.conflictReason(target), maxMessage)
	case failed.want == want:
		return v1alpha1.MirrorFailed, text.Shorten(failed.Reason, maxMessage)
	default:
		return v1alpha1.MirrorPending, ""
	}
}

func byFailureName(failures []Failure) map[string]Failure {
	byName := make(map[string]Failure, len(failures))
	for _, failure := range failures {
		byName[failure.Name] = failure
	}
	return byName
}

// setSince sets the time of each entry, in whole seconds as the API server stores it.
func setSince(entries, before []v1alpha1.MirroredConfigMap, now time.Time) {
	former := make(map[string]v1alpha1.MirroredConfigMap, len(before))
	for _, entry := range before {
		former[entry.Name] = entry
	}
	for i := range entries {
		entry := &entries[i]
		entry.Since = metav1.NewTime(now).Rfc3339Copy()
		if old, ok := former[entry.Name]; ok && old.State == entry.State && old.Revision == entry.Revision {
			entry.Since = old.Since
		}
	}
}

// SameStatus reports whether a status equals another one.
func SameStatus(a, b v1alpha1.ConfigMapMirrorStatus) bool {
	return a.Total == b.Total && a.Synced == b.Synced && a.Omitted == b.Omitted &&
		slices.EqualFunc(a.ConfigMaps, b.ConfigMaps, func(x, y v1alpha1.MirroredConfigMap) bool {
			return x.Name == y.Name && x.Revision == y.Revision && x.State == y.State && x.Message == y.Message && x.Since.Equal(&y.Since)
		})
}

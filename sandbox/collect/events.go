package collect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// eventTable returns a line for each event, the oldest first.
func eventTable(events []corev1.Event) string {
	slices.SortStableFunc(events, func(a, b corev1.Event) int {
		return cmp.Or(lastSeen(a).Compare(lastSeen(b)), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range events {
		object := e.InvolvedObject
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s/%s\t%s\t%s (%d)\n", lastSeen(e).UTC().Format(time.RFC3339), e.Type,
			cmp.Or(object.Namespace, e.Namespace), object.Kind, object.Name, e.Reason, strings.Join(strings.Fields(e.Message), " "), max(e.Count, 1))
	}
	_ = table.Flush()
	return b.String()
}

// lastSeen returns the time of the event: the newer of its two APIs fills EventTime alone.
func lastSeen(e corev1.Event) time.Time {
	latest := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(latest) {
		latest = e.Series.LastObservedTime.Time
	}
	for _, other := range []time.Time{e.EventTime.Time, e.CreationTimestamp.Time} {
		if latest.IsZero() {
			latest = other
		}
	}
	return latest
}

package status

import (
	"context"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

// Fleet is how the add-on is on all clusters of a hub at one time.
type Fleet struct {
	*report.Report
	// Labels are those of the ManagedClusters, by their names. They are not to be changed.
	Labels map[string]map[string]string
}

// Follow calls changed with the fleet, and again after each change, until ctx ends or changed returns an error. Changes that come
// together are one call. It returns an error if the hub cannot be asked in the beginning. Later the last state that could
// be read stays, and the report lists what cannot be read.
func Follow(ctx context.Context, config *rest.Config, clock clock.Clock, changed func(Fleet) error) error {
	h, err := newHub(config)
	if err != nil {
		return err
	}
	resources := resourcesFor("")
	found := h.gather(ctx, resources)
	if err := found.problem(h.Host); err != nil {
		return err
	}
	tell := func() error {
		return changed(Fleet{report.New(found.input(selection{}, clock.Now())), found.labels()})
	}
	if err := tell(); err != nil {
		return err
	}
	return h.follow(ctx, clock, resources, found, tell)
}

func (f *findings) labels() map[string]map[string]string {
	labels := map[string]map[string]string{}
	for _, e := range f.results[clusters].entries {
		labels[e.cluster] = e.labels
	}
	return labels
}

// Changed returns the rows of now that differ from before, in the order of the report, and then those of clusters that are gone.
func Changed(before, now *report.Report) []report.Row { return changedRows(before, now) }

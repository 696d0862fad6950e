package status

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

const (
	// lookAgain is after how long without a change the state is judged anew: a certificate expires without one.
	lookAgain = time.Minute
	// gatherDelay is how long changes are gathered before they are printed: one change of a cluster is often
	// several of its objects.
	gatherDelay = 200 * time.Millisecond
	// retryDelay is the time between two attempts to list or watch a resource.
	retryDelay    = 2 * time.Second
	maxRetryDelay = time.Minute
	// settledWatch is how long a watch has to last so that the next one follows at once. A shorter one may be cut off again.
	settledWatch = 10 * time.Second
)

// change is a change of what is known of one resource: all of it, or one entry.
type change struct {
	resource int
	all      *result
	kind     watch.EventType
	entry    entry
}

// apply carries out the change. A list that failed keeps what was known before.
func (c change) apply(f *findings) {
	known := &f.results[c.resource]
	switch {
	case c.all != nil && c.all.err != nil:
		known.err = c.all.err
	case c.all != nil:
		*known = *c.all
	case c.kind == watch.Deleted:
		delete(known.entries, c.entry.key)
	default:
		known.entries[c.entry.key] = c.entry
	}
}

// keep sends the changes of a resource until ctx ends, beginning after what was read.
func (h *hub) keep(ctx context.Context, clock clock.Clock, i int, r resource, read result, changes chan<- change) {
	send := func(c change) {
		select {
		case changes <- c:
		case <-ctx.Done():
		}
	}
	path, version := read.path, read.version
	for failures := 0; ctx.Err() == nil; {
		if version == "" {
			again := h.read(ctx, r)
			send(change{resource: i, all: &again})
			path, version = again.path, again.version
		}
		if version == "" {
			failures++
		} else {
			var err error
			began := clock.Now()
			version, err = h.watch(ctx, r, path, version, func(kind watch.EventType, e entry) {
				send(change{resource: i, kind: kind, entry: e})
			})
			settled := clock.Since(began) >= settledWatch
			if settled || err == nil {
				failures = 0
			}
			if err != nil {
				send(change{resource: i, all: &result{err: err}})
				version = ""
				failures++
			} else if settled {
				continue
			}
		}
		retry.Sleep(ctx, clock, retry.Delay(max(1, failures), retryDelay, maxRetryDelay))
	}
}

// follow calls changed after each change of what was found, and after a time without one, until ctx ends.
func (h *hub) follow(ctx context.Context, clock clock.Clock, resources [resourceCount]resource, found *findings, changed func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	changes := make(chan change)
	for i, r := range resources {
		read := found.results[i]
		group.Go(func() { h.keep(ctx, clock, i, r, read, changes) })
	}
	due, isSoon := clock.After(lookAgain), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			c.apply(found)
			if !isSoon {
				due, isSoon = clock.After(gatherDelay), true
			}
		case <-due:
			due, isSoon = clock.After(lookAgain), false
			if err := changed(); err != nil {
				return err
			}
		}
	}
}

// changedRows returns the rows of now that differ from before, in the order of the report, and then those of clusters that
// are gone.
func changedRows(before, now *report.Report) []report.Row {
	known := map[string]report.Row{}
	for _, row := range before.Clusters {
		known[row.Name] = row
	}
	var rows []report.Row
	for _, row := range now.Clusters {
		if !equality.Semantic.DeepEqual(known[row.Name], row) {
			rows = append(rows, row)
		}
		delete(known, row.Name)
	}
	for _, row := range before.Clusters {
		if _, gone := known[row.Name]; gone {
			rows = append(rows, report.Row{Name: row.Name, State: report.Gone, Well: true, Since: &now.Time})
		}
	}
	return rows
}

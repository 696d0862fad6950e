package reporter

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// beat says at every interval that the leaf hub is there, if it is and its rows
// are true; and at once when they have become so.
func (r *reporter) beat(ctx context.Context) {
	for failing := false; ; {
		timer := r.clock.NewTimer(r.heartbeat)
		select {
		case <-timer.C():
		case <-r.trueAgain:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		err := r.beatOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures.WithLabelValues("heartbeat").Inc()
			if !failing {
				klog.FromContext(ctx).Error(err, "No heartbeat; it is tried again")
			}
		}
		failing = err != nil
	}
}

// beatOnce beats unless the rows are not known to be true: what a leaf hub said
// before it was away would else be believed again before it has said anything.
func (r *reporter) beatOnce(ctx context.Context) error {
	if err := r.untrue(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if err := r.alive(limited); err != nil {
		return fmt.Errorf("ask whether the leaf hub answers: %w", err)
	}
	return r.store.Heartbeat(limited, r.leafHub)
}

// untrue says why rows of the leaf hub may not be true.
func (r *reporter) untrue() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing {
		return errors.New("the database does not take the report")
	}
	if waiting := uncompared(r.compared, r.watcher.unserved()); len(waiting) > 0 {
		return fmt.Errorf("not yet known as a whole and compared with the database: %v", waiting)
	}
	return nil
}

// turned notes how a turn ended, and which kinds were compared until then.
func (r *reporter) turned(err error, compared map[status.Kind]bool) {
	r.mu.Lock()
	r.failing, r.compared = err != nil, compared
	r.mu.Unlock()
	before := r.wasTrue
	if r.wasTrue = r.untrue() == nil; r.wasTrue && !before {
		select {
		case r.trueAgain <- struct{}{}:
		default:
		}
	}
}

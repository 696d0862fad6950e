package reporter

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/pkg/hub/status/internal/program"
)

// beat says at every interval that the leaf hub is there, if it is.
func (r *reporter) beat(ctx context.Context) {
	for failing := false; ; {
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
		if !program.Sleep(ctx, r.clock, r.heartbeat) {
			return
		}
	}
}

func (r *reporter) beatOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if err := r.alive(limited); err != nil {
		return fmt.Errorf("ask whether the leaf hub answers: %w", err)
	}
	return r.store.Heartbeat(limited, r.leafHub)
}

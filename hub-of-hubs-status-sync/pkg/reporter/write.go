package reporter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// flush writes everything that has changed until now, batch by batch. What
// changes while it does so is for the next turn, or a hub that is never quiet
// would be written without a pause.
func (r *reporter) flush(ctx context.Context) error {
	for refs := r.take(); len(refs) > 0 && ctx.Err() == nil; {
		rest, err := r.write(ctx, refs)
		if err != nil {
			r.giveBack(refs)
			return err
		}
		r.left(len(rest))
		refs = rest
	}
	return ctx.Err()
}

// write writes one batch, and returns what is left for the next one.
func (r *reporter) write(ctx context.Context, refs []status.ObjectRef) (rest []status.ObjectRef, err error) {
	all, rest, err := r.observe(ctx, refs)
	if err != nil {
		return nil, err
	}
	batch, after, again := planBatch(all, r.reported)
	if err := r.apply(ctx, batch); err != nil {
		return nil, err
	}
	r.reported = after
	return append(rest, again...), nil
}

// observe takes the objects as they are now, as many as make a batch; the rest
// is for the next one.
func (r *reporter) observe(ctx context.Context, refs []status.ObjectRef) (all []observed, rest []status.ObjectRef, err error) {
	var batch size
	for i, ref := range refs {
		object, err := r.objects.get(ctx, ref)
		o := observed{ref: ref, object: object}
		if apierrors.IsNotFound(err) {
			o.object = nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("get %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, err)
		}
		if o.object != nil && ref.Kind != status.KindPolicy {
			if o.payload, err = json.Marshal(object.Object); err != nil {
				failures.WithLabelValues("object").Inc()
				klog.FromContext(ctx).Error(err, "An object cannot be encoded and is not reported", "kind", ref.Kind, "object", klog.KRef(ref.Namespace, ref.Name))
				continue
			}
		}
		all = append(all, o)
		if batch.add(o); batch.full() {
			return all, refs[i+1:], nil
		}
	}
	return all, nil, nil
}

func (r *reporter) apply(ctx context.Context, batch status.Batch) error {
	if empty(batch) {
		return nil
	}
	result, err := r.store.Apply(ctx, r.leafHub, batch)
	if err != nil {
		return fmt.Errorf("write a batch: %w", err)
	}
	batches.Inc()
	rows.WithLabelValues("written").Add(float64(result.Written))
	rows.WithLabelValues("removed").Add(float64(result.Removed))
	failures.WithLabelValues("rejected").Add(float64(len(result.Rejected)))
	logger := klog.FromContext(ctx)
	if fresh, more := r.rejected.note(result.Rejected); len(fresh) > 0 {
		logger.Error(nil, "The database cannot take some entries; the others are written", "entries", fresh, "more", more)
	} else if len(result.Rejected) > 0 {
		logger.V(2).Info("The database still cannot take some entries", "entries", len(result.Rejected))
	}
	return nil
}

// compare removes what the database has of some kinds and the leaf hub has not,
// and writes everything of them that there is, and what else has changed.
func (r *reporter) compare(ctx context.Context, which map[status.Kind]bool) error {
	// The names before the database: what comes in between is not yet there.
	names := r.watcher.present(which)
	inventory, err := r.store.Present(ctx, r.leafHub)
	if err != nil {
		return fmt.Errorf("read what the database has: %w", err)
	}
	for _, batch := range planGone(inventory, names, which) {
		if err := r.apply(ctx, batch); err != nil {
			return err
		}
	}
	r.giveBack(slices.Collect(maps.Keys(names)))
	return r.flush(ctx)
}

package mirror

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// reconcile brings one name in sync.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	if name == manifests.UninstallMarker {
		return c.acknowledge(ctx)
	}
	defer c.config.Looked()
	c.writing.RLock()
	defer c.writing.RUnlock()
	if c.config.Gate(c.marker()) != nil {
		return nil
	}
	logger := klog.FromContext(ctx)
	scope := c.config.Scope
	source := c.sources.Get(scope.HubNamespace, name)
	target := c.copies.Get(scope.InstallNamespace, name)
	arrived := c.arrivals.take(name)

	action := withRemnant(PlanOne(scope, c.relate(logger, source, target), name, source, target), c.remnant(name))
	err := execute(ctx, c.config.Writer, action)
	c.keepRemnant(action, err)
	c.observe(logger, action, err, arrived)
	c.record(logger, action, source, err)
	return err
}

// observe tells of a write.
func (c *Controller) observe(logger klog.Logger, action Action, err error, arrived time.Time) {
	if err != nil && !arrived.IsZero() {
		c.arrivals.add(action.Name, arrived)
	}
	if !action.Writes() {
		return
	}
	switch {
	case err == nil:
		latency := time.Duration(0)
		if !arrived.IsZero() {
			latency = c.config.Clock.Since(arrived)
		}
		c.config.Observer.Wrote(action.Kind, Success)
		c.config.Observer.Synced(latency)
		logger.V(2).Info("Wrote ConfigMap", "name", action.Name, "action", action.Kind)
	case errors.Is(err, errStale):
		c.config.Observer.Wrote(action.Kind, Stale)
	case !errors.Is(err, context.Canceled):
		c.config.Observer.Wrote(action.Kind, Failed)
	}
}

// record keeps and tells what a person has to know of, when it changes.
func (c *Controller) record(logger klog.Logger, action Action, source *Source, err error) {
	if errors.Is(err, errStale) || errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	change := c.failures.record(action, err)
	if action.Writes() || change == cleared {
		c.trend = c.trend.after(action.Writes() && err == nil, c.failures, c.config.Clock.Now())
	}
	now, none := c.failures[action.Name], len(c.failures) == 0
	var next []string
	if change == cleared {
		next = c.failures.retried(releasedBySuccess)
	}
	c.mu.Unlock()
	switch change {
	case appeared:
		var uid types.UID
		if source != nil {
			uid = source.UID
		}
		logger.Info("ConfigMap is not in sync", "name", action.Name, "state", now.Kind, "reason", now.Reason)
		c.config.Observer.NotInSync(now, uid)
	case cleared:
		logger.Info("ConfigMap is in sync again", "name", action.Name)
		c.release(next, none)
	case unchanged:
	}
}

// release tries what fails now that something else works again.
func (c *Controller) release(names []string, none bool) {
	if none {
		c.pace.reset()
	}
	for _, name := range names {
		c.queue.Add(name)
	}
}

// marker is the uninstall marker as the cache has it, or nil. The cache gets
// events in the API server's order: it never knows that the hook has deleted a
// copy without knowing the marker, which the hook wrote before.
func (c *Controller) marker() *Copy {
	return c.copies.Get(c.config.Scope.InstallNamespace, manifests.UninstallMarker)
}

// acknowledge answers to the uninstall marker, once nothing is written any
// more because of it.
func (c *Controller) acknowledge(ctx context.Context) error {
	defer c.config.Looked()
	marker := c.marker()
	answer := Answer(marker)
	if answer == nil || c.config.Gate(marker) == nil {
		return nil
	}
	// Whoever works on a name now may have begun before the marker was seen.
	c.writing.Lock()
	//nolint:staticcheck // SA2001: to have waited is all that is needed.
	c.writing.Unlock()
	err := execute(ctx, c.config.Writer, *answer)
	if err == nil {
		klog.FromContext(ctx).Info("Stopped for good, as the uninstall asks", "marker", manifests.UninstallMarker)
	}
	return err
}

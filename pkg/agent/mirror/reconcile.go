package mirror

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if c.gate(c.marker()) != nil {
		return nil
	}
	logger := klog.FromContext(ctx)
	scope := c.config.Scope
	source := c.sources.Get(scope.HubNamespace, name)
	target := c.copies.Get(scope.InstallNamespace, name)
	arrived := c.arrivals.take(name)

	action := withRemnant(PlanOne(scope, c.relate(logger, source, target), name, source, target), c.remnant(name))
	if wait := c.postpone(ctx, action, source); wait > 0 {
		c.arrivals.add(name, arrival{changed: arrived.changed})
		c.queue.AddAfter(name, wait)
		return nil
	}
	err := c.settle(action, source, target, arrived.changed, execute(ctx, c.config.Writer, action))
	c.keepRemnant(action, err)
	c.observe(logger, action, err, arrived)
	c.record(logger, action, source, err)
	return err
}

// postpone returns how long an action has to wait, zero for not at all.
func (c *Controller) postpone(ctx context.Context, action Action, source *Source) time.Duration {
	if wait := c.hold(ctx, action, source); wait > 0 {
		// A write that failed before is not tried any more.
		c.record(klog.FromContext(ctx), Action{Kind: Ignore, Name: action.Name}, nil, nil)
		return wait
	}
	if !action.Writes() {
		return 0
	}
	c.mu.Lock()
	wait := c.contests.wait(action.Name, wantedOf(source), c.config.Clock.Now())
	known := c.contests.contested(action.Name)
	c.mu.Unlock()
	if wait > 0 && !known {
		c.explain(ctx, action.Name, source)
	}
	return wait
}

// hold returns how long the deletion of a copy without a source has to wait.
func (c *Controller) hold(ctx context.Context, action Action, source *Source) time.Duration {
	released, now := c.released(), c.config.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if action.Kind != Delete || source != nil {
		c.brake.forget(action.Name)
		return 0
	}
	wait, judge := c.brake.wait(action.Name, released, now)
	if judge {
		c.judgeMissing(klog.FromContext(ctx))
		wait, _ = c.brake.wait(action.Name, released, now)
	}
	return wait
}

// judgeMissing decides which copies without a source are held. The lock is held.
func (c *Controller) judgeMissing(logger klog.Logger) {
	var missing []string
	owned := 0
	for _, target := range c.copies.List() {
		if !target.Owned || target.Deleting || Excluded(target.Name) {
			continue
		}
		owned++
		source := c.sources.Get(c.config.Scope.HubNamespace, target.Name)
		if source == nil && KindOf(c.relation, target.Name, nil, target) == Delete {
			missing = append(missing, target.Name)
		}
	}
	if c.brake.judge(missing, owned, c.config.Clock.Now()) {
		logger.Info("Holding deletions that a list of the hub's ConfigMaps implies",
			"deletions", len(missing), "copies", owned, "until", c.brake.until)
	}
}

func (c *Controller) released() bool {
	return c.config.Released != nil && c.config.Released()
}

// explain tells of a copy that has become contested. It looks up who else writes
// it, which the cache does not keep.
func (c *Controller) explain(ctx context.Context, name string, source *Source) {
	manager := ""
	get, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if present, err := c.config.Writer.Get(get, name, metav1.GetOptions{}); err == nil {
		manager = otherManager(present.ManagedFields)
	}
	failure := Failure{Name: name, Kind: Contested, Reason: c.config.Scope.contestReason(name, manager)}
	c.mu.Lock()
	c.contests.explain(name, failure.Reason)
	c.mu.Unlock()
	klog.FromContext(ctx).Info("ConfigMap is contested", "name", name, "manager", manager)
	c.config.Observer.NotInSync(failure, uidOf(source))
}

// settle records what came of an action, for the pace of the next one, and
// returns the outcome as what it is.
func (c *Controller) settle(action Action, source *Source, target *Copy, changed bool, err error) error {
	version := ""
	if target != nil {
		version = target.ResourceVersion
	}
	now := c.config.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	raced, err := c.stales.judge(action, version, err)
	want := wantedOf(source)
	switch {
	case !action.Writes():
		if rest := c.contests.rest(action.Name, want, now); rest > 0 {
			c.queue.AddAfter(action.Name, rest)
		}
	case err == nil || raced && c.contests.repairs(action.Name, want, changed):
		c.contests.wrote(action.Name, want, changed, now)
	}
	return err
}

func uidOf(source *Source) types.UID {
	if source == nil {
		return ""
	}
	return source.UID
}

// observe tells of a write.
func (c *Controller) observe(logger klog.Logger, action Action, err error, arrived arrival) {
	if err != nil {
		c.arrivals.add(action.Name, arrived)
	}
	if !action.Writes() {
		return
	}
	switch {
	case err == nil:
		latency := time.Duration(0)
		if !arrived.at.IsZero() {
			latency = c.config.Clock.Since(arrived.at)
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
		logger.Info("ConfigMap is not in sync", "name", action.Name, "state", now.Kind, "reason", now.Reason)
		c.config.Observer.NotInSync(now, uidOf(source))
	case cleared:
		logger.Info("Cleared ConfigMap failure", "name", action.Name)
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
	if answer == nil || c.gate(marker) == nil {
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

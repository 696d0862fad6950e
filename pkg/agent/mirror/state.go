package mirror

import (
	"errors"
	"time"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Resync queues every name.
func (c *Controller) Resync() {
	sources, copies := c.views()
	if sources == nil {
		return
	}
	for _, source := range sources.List() {
		c.queue.Add(source.Name)
	}
	for _, target := range copies.List() {
		c.queue.Add(target.Name)
	}
}

// Summary returns the present state of all names.
func (c *Controller) Summary() plan.Summary {
	sources, copies := c.views()
	if sources == nil {
		return plan.Summary{}
	}
	var summary plan.Summary
	c.locked(func() { summary = c.book.Troubles() })
	if c.released() {
		summary.Held, summary.HeldUntil = nil, time.Time{}
	}
	return summary.Count(sources.List(), func(name string) *plan.Copy {
		return copies.Get(c.config.Scope.InstallNamespace, name)
	})
}

// MirrorStatus returns the status of the cluster's ConfigMapMirror at a time. before are the entries
// of the previous status.
func (c *Controller) MirrorStatus(before []v1alpha1.MirroredConfigMap, now time.Time) v1alpha1.ConfigMapMirrorStatus {
	sources, copies := c.views()
	if sources == nil {
		return v1alpha1.ConfigMapMirrorStatus{}
	}
	var troubles plan.Summary
	c.locked(func() { troubles = c.book.Troubles() })
	return c.config.Scope.MirrorStatus(troubles, sources.List(), func(name string) *plan.Copy {
		return copies.Get(c.config.Scope.InstallNamespace, name)
	}, before, now)
}

// Stopped returns why the mirror may not write, or nil.
func (c *Controller) Stopped() error {
	if _, copies := c.views(); copies != nil {
		return c.gate(c.marker())
	}
	return c.gate(nil)
}

// gate returns nil as long as the mirror may write. Otherwise it suspends the hold of
// removals.
func (c *Controller) gate(marker *plan.Copy) error {
	err := c.config.Gate(marker)
	if err != nil {
		c.locked(c.book.Suspend)
	}
	return err
}

func (c *Controller) released() bool {
	return c.config.Released != nil && c.config.Released()
}

// Ready returns nil when both namespaces are listed and can be read.
func (c *Controller) Ready() error {
	sources, copies := c.views()
	if sources == nil {
		return errors.New("the mirror is not started yet")
	}
	return errors.Join(sources.Err(), copies.Err())
}

// Stuck returns why nothing can be written any more, or nil. Failures of single
// ConfigMaps are in Summary.
func (c *Controller) Stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.book.Stuck(c.config.Clock.Now())
}

// Listed reports whether both namespaces were listed.
func (c *Controller) Listed() bool {
	sources, copies := c.views()
	return sources != nil && sources.Synced() && copies.Synced()
}

// Unreadable returns why a namespace cannot be read, or nil.
func (c *Controller) Unreadable() error {
	sources, copies := c.views()
	if sources == nil {
		return nil
	}
	return errors.Join(sources.Unreadable(), copies.Unreadable())
}

func (c *Controller) views() (*view.View[*plan.Source], *view.View[*plan.Copy]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources, c.copies
}

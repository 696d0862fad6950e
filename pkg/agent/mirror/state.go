package mirror

import (
	"errors"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// Resync looks at every name again.
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

// Summary says how things are now.
func (c *Controller) Summary() Summary {
	c.mu.Lock()
	sources, copies, relation, failures := c.sources, c.copies, c.relation, c.failures.sorted()
	contested := c.contests.sorted()
	held, until := c.brake.sorted()
	c.mu.Unlock()
	if sources == nil {
		return Summary{}
	}
	summary := Summarize(relation, sources.List(), func(name string) *Copy {
		return copies.Get(c.config.Scope.InstallNamespace, name)
	}, failures, contested)
	if len(held) > 0 && !c.released() {
		summary.Held, summary.HeldUntil = held, until
	}
	return summary
}

// Stopped says why nothing is written, or nil.
func (c *Controller) Stopped() error {
	_, copies := c.views()
	if copies == nil {
		return c.gate(nil)
	}
	return c.gate(copies.Get(c.config.Scope.InstallNamespace, manifests.UninstallMarker))
}

// gate returns nil as long as the mirror may write. While the gate is closed, the
// period of a hold is suspended.
func (c *Controller) gate(marker *Copy) error {
	err := c.config.Gate(marker)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.brake.suspend()
	}
	return err
}

// Failures lists what keeps ConfigMaps from being in sync, sorted by name.
func (c *Controller) Failures() []Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures.sorted()
}

// Ready says what keeps the mirror from doing its work: a side that is not
// listed yet, or that cannot be read any more.
func (c *Controller) Ready() error {
	sources, copies := c.views()
	if sources == nil {
		return errors.New("the mirror is not started yet")
	}
	return errors.Join(sources.Err(), copies.Err())
}

// Stuck says why nothing can be written any more, or nil. What keeps single
// ConfigMaps from being written is in Failures.
func (c *Controller) Stuck() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return stuck(c.trend, c.failures, c.config.Clock.Now())
}

// Listed says whether both sides were listed.
func (c *Controller) Listed() bool {
	sources, copies := c.views()
	return sources != nil && sources.Synced() && copies.Synced()
}

// Unreadable says why a side cannot be read, or nil.
func (c *Controller) Unreadable() error {
	sources, copies := c.views()
	if sources == nil {
		return nil
	}
	return errors.Join(sources.Unreadable(), copies.Unreadable())
}

func (c *Controller) views() (*view.View[*Source], *view.View[*Copy]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources, c.copies
}

package klusterlet

import (
	"context"
	"fmt"
	"sync"

	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"
)

// group runs the parts of the agents. They end together: when the first one ends, or when the
// group's parent ends.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	parts  sync.WaitGroup
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// start runs a part. A part that returns before the group's end fails the group. So does one that
// ends its goroutine: in place of the process, OCM's controllers end the goroutine when their
// caches have not synced in ten minutes.
func (g *group) start(name string, part func(context.Context)) {
	g.parts.Add(1)
	go func() {
		defer g.parts.Done()
		defer func() { g.fail(fmt.Errorf("%s: %w", name, errEnded)) }()
		part(g.ctx)
	}()
}

// run starts a controller with one worker. OCM's work agent has ten workers per controller; a
// cluster of a fleet has few ManifestWorks, and each worker costs memory.
func (g *group) run(name string, controller factory.Controller) {
	g.start(name, func(ctx context.Context) { controller.Run(ctx, 1) })
}

// fail ends the group with the error, unless it has ended.
func (g *group) fail(err error) { g.cancel(err) }

// stop ends the group, waits for its parts, and returns the error with which it ended.
func (g *group) stop() error {
	g.cancel(nil)
	g.parts.Wait()
	return context.Cause(g.ctx)
}

package klusterlet

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

func TestGroupEndsWithItsFirstPart(t *testing.T) {
	failure := errors.New("failure")
	for _, test := range []struct {
		name string
		part func(*group) func(context.Context)
		want error
	}{
		{"a part returns", func(*group) func(context.Context) { return func(context.Context) {} }, errEnded},
		{"a controller would end the process", func(*group) func(context.Context) {
			return func(context.Context) { runtime.Goexit() }
		}, errEnded},
		{"a part fails the group", func(g *group) func(context.Context) {
			return func(ctx context.Context) {
				g.fail(failure)
				<-ctx.Done()
			}
		}, failure},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGroup(t.Context())
			other := false
			g.start("other", func(ctx context.Context) {
				<-ctx.Done()
				other = true
			})
			g.start("part", test.part(g))
			<-g.ctx.Done()
			if err := g.stop(); !errors.Is(err, test.want) || !other {
				t.Errorf("error %v, other part ended: %v, want %v", err, other, test.want)
			}
		})
	}
}

func TestGroupEndsWithItsParent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newGroup(ctx)
	g.start("part", func(ctx context.Context) { <-ctx.Done() })
	cancel()
	<-g.ctx.Done()
	if err := g.stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the parent", err)
	}
}

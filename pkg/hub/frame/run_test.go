package frame

import (
	"context"
	"errors"
	"testing"
)

func TestCampaign(t *testing.T) {
	broken := errors.New("broken")
	wait := func(ctx context.Context) error { <-ctx.Done(); return nil }
	tests := []struct {
		name   string
		reason string
		cancel bool // the process is told to end
		leads  bool // the election is won
		lost   bool // and lost again
		work   func(context.Context) error
		want   error
	}{
		{name: "told to end while waiting for the lease", cancel: true, work: func(context.Context) error { return broken },
			reason: "the work never began"},
		{name: "told to end while working", cancel: true, leads: true, work: wait, reason: "a normal end"},
		{name: "the lease is lost", leads: true, lost: true, work: wait, want: errLeadershipLost,
			reason: "the process must not go on as if it were alone"},
		{name: "the work fails", leads: true, work: func(context.Context) error { return broken }, want: broken,
			reason: "an error ends the election, so that the lease is given up"},
		{name: "the work fails at the end", cancel: true, leads: true, want: broken, reason: "its error is not lost",
			work: func(ctx context.Context) error { <-ctx.Done(); return broken }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			leading := make(chan context.Context, 1)
			began := make(chan struct{})
			elect := func(ctx context.Context) {
				workCtx, stop := context.WithCancel(ctx)
				defer stop()
				if test.leads {
					leading <- workCtx
					<-began
				}
				if test.cancel {
					cancel()
				}
				if !test.lost {
					<-ctx.Done()
				}
			}
			var ended bool
			err := campaign(ctx, elect, leading, func(ctx context.Context) error {
				close(began)
				defer func() { ended = true }()
				return test.work(ctx)
			})
			if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v: %s", err, test.want, test.reason)
			}
			if ended != test.leads {
				t.Errorf("the work has ended: %t, want %t", ended, test.leads)
			}
		})
	}
}

func TestReplicaIdentity(t *testing.T) {
	if got, err := replicaIdentity("pod-1"); err != nil || got != "pod-1" {
		t.Errorf("got %q, %v: a container restarted in its pod must have the name under which the pod holds the lease", got, err)
	}
	one, err := replicaIdentity("")
	if err != nil {
		t.Fatal(err)
	}
	two, err := replicaIdentity("")
	if err != nil {
		t.Fatal(err)
	}
	if one == two {
		t.Errorf("two replicas on one host are both called %q", one)
	}
}

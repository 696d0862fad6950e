// Package progress tells a person what is being done and how long it took. It
// decides nothing, and returns every error as it was.
package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often something that takes long says that it goes on.
const heartbeat = 15 * time.Second

// Reporter writes lines that begin with the time since it was made.
type Reporter struct {
	mu      sync.Mutex
	out     io.Writer
	started time.Time
}

// New is a reporter whose clock starts now.
func New(out io.Writer) *Reporter { return &Reporter{out: out, started: time.Now()} }

// Say writes one line.
func (r *Reporter) Say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%6s  %s\n", time.Since(r.started).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

// Step does something, and says when it is done, with the time that it took.
// While it lasts it says every now and then that it goes on, with what detail
// returns; detail may be nil.
func (r *Reporter) Step(ctx context.Context, what string, detail func() string, do func(context.Context) error) error {
	started := time.Now()
	done, beating := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(beating)
		r.beat(done, started, what, detail)
	}()
	err := do(ctx)
	close(done)
	<-beating
	if err == nil {
		r.Say("%s (%s)", what, time.Since(started).Round(100*time.Millisecond))
	}
	return err
}

func (r *Reporter) beat(done <-chan struct{}, started time.Time, what string, detail func() string) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			suffix := ""
			if detail != nil {
				suffix = ": " + detail()
			}
			r.Say("    %s: %s so far%s", what, time.Since(started).Round(time.Second), suffix)
		}
	}
}

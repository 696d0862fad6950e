package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// period is the polling period, and so the precision of the times.
const period = 20 * time.Millisecond

// effect is one effect that the demo waits for.
type effect struct {
	key string
	// what describes it in the output
	what string
	// where is the command that shows why it does not happen
	where string
	// look reports whether it has happened, with details.
	look func(context.Context) (details string, seen bool, err error)
}

// watch waits for all effects, prints each one when it happens, and returns their times.
func (d *demo) watch(ctx context.Context, effects []effect) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.Patience, fmt.Errorf("not seen within %s", d.Patience))
	defer cancel()
	started, seen := time.Now(), map[string]time.Time{}
	var last error
	for {
		for _, s := range effects {
			if _, done := seen[s.key]; done {
				continue
			}
			details, ok, err := s.look(ctx)
			if err != nil {
				last = fmt.Errorf("%s: %w", s.key, err)
			}
			if !ok {
				continue
			}
			seen[s.key] = time.Now()
			d.say("%6s  %s", "+"+clock(time.Since(started)), s.what)
			for _, line := range strings.Split(details, "\n") {
				if line != "" {
					d.say("            %s", line)
				}
			}
		}
		if len(seen) == len(effects) {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return nil, missing(context.Cause(ctx), effects, seen, last)
		case <-time.After(period):
		}
	}
}

// missing returns the error that names the effects that did not happen, and where to look.
func missing(cause error, effects []effect, seen map[string]time.Time, last error) error {
	var lines []string
	for _, s := range effects {
		if _, done := seen[s.key]; !done {
			lines = append(lines, fmt.Sprintf("  %s (look at: %s)", s.what, s.where))
		}
	}
	err := fmt.Errorf("%w:\n%s", cause, strings.Join(lines, "\n"))
	if last != nil {
		err = fmt.Errorf("%w\nthe last error: %w", err, last)
	}
	return err
}

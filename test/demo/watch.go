package demo

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// period is how often the demo looks; it bounds the precision of its times.
const period = 20 * time.Millisecond

// sight is one thing to be seen.
type sight struct {
	key string
	// what it is, as the story tells it when it is seen
	what string
	// where a person looks when it does not come
	where string
	// look returns details once it is there.
	look func(context.Context) (details string, seen bool, err error)
}

// watch tells of each sight when it is seen, and returns when all have been.
func (d *demo) watch(ctx context.Context, sights []sight) (map[string]time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.Patience, fmt.Errorf("not seen within %s", d.Patience))
	defer cancel()
	started, seen := time.Now(), map[string]time.Time{}
	var last error
	for {
		for _, s := range sights {
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
		if len(seen) == len(sights) {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return nil, missing(context.Cause(ctx), sights, seen, last)
		case <-time.After(period):
		}
	}
}

// missing says what was not seen, and where to look.
func missing(cause error, sights []sight, seen map[string]time.Time, last error) error {
	var lines []string
	for _, s := range sights {
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

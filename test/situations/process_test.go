//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// process returns what identifies the process of the registration agent, and nothing
// while none runs.
func (c *cluster) process(ctx context.Context) (string, error) {
	output, err := c.shell(ctx, processEnv, "")
	return strings.TrimSpace(string(output)), err
}

// ends returns a line with the cause for each time that the registration agent ended by
// itself, oldest first.
func (c *cluster) ends(ctx context.Context) ([]string, error) {
	output, err := c.shell(ctx, endsEnv, "")
	if err != nil || len(output) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n"), nil
}

// watchEnds returns a function that returns the causes for which the registration agent
// has ended by itself since now. A new pod begins anew: call it after a start.
func (c *cluster) watchEnds(t *testing.T) func(ctx context.Context) ([]string, error) {
	t.Helper()
	before, err := c.ends(t.Context())
	must(t, "read how the registration agent ended", err)
	return func(ctx context.Context) ([]string, error) {
		now, err := c.ends(ctx)
		if err != nil || len(now) < len(before) {
			return now, err
		}
		return now[len(before):], nil
	}
}

// byHealthCheck reports whether the cause for which the agent ended is its health check:
// the sandbox, like a kubelet, probes /healthz and restarts it.
func byHealthCheck(cause string) bool { return strings.Contains(cause, "iveness probe") }

// keepsEnding returns a check that the registration agent has ended by itself at least
// twice since now.
func (c *cluster) keepsEnding(t *testing.T) check {
	t.Helper()
	return endedTimes(2, c.watchEnds(t))
}

// keepsEndingAfter checks that the registration agent ends at the change, and ends again
// when it was restarted. renewed checks that it has worked since it first ended.
func (c *cluster) keepsEndingAfter(t *testing.T, change func()) (renewed check) {
	t.Helper()
	ended := c.watchEnds(t)
	change()
	eventually(t, "the registration agent ends", endedTimes(1, ended))
	renewed = c.renewal(t)
	eventually(t, "the restarted registration agent ends as well", endedTimes(2, ended))
	return renewed
}

// endedTimes returns a check that the registration agent has ended that often.
func endedTimes(atLeast int, ended func(context.Context) ([]string, error)) check {
	return func(ctx context.Context) error {
		causes, err := ended(ctx)
		if err == nil && len(causes) < atLeast {
			err = fmt.Errorf("the registration agent ended %d times", len(causes))
		}
		return err
	}
}

// replaced returns a check that the registration agent runs in another process than now.
func (c *cluster) replaced(t *testing.T) check {
	t.Helper()
	before, err := c.process(t.Context())
	must(t, "read the registration agent's process", err)
	if before == "" {
		t.Fatal("there is no registration agent that could be replaced")
	}
	return func(ctx context.Context) error {
		now, err := c.process(ctx)
		if err == nil && (now == "" || now == before) {
			err = fmt.Errorf("the registration agent's process was %s and is %q", before, now)
		}
		return err
	}
}

// notReplaced returns a check that the registration agent runs in the same process as now.
func (c *cluster) notReplaced(t *testing.T) check {
	t.Helper()
	before, err := c.process(t.Context())
	must(t, "read the registration agent's process", err)
	return func(ctx context.Context) error {
		now, err := c.process(ctx)
		if err == nil && now != before {
			err = fmt.Errorf("the registration agent's process was %s and is %q", before, now)
		}
		return err
	}
}

// hasProcess checks that there is a process of the registration agent.
func (c *cluster) hasProcess(ctx context.Context) error {
	now, err := c.process(ctx)
	if err == nil && now == "" {
		err = errors.New("the registration agent does not run")
	}
	return err
}

// noProcess checks that there is no process of the registration agent.
func (c *cluster) noProcess(ctx context.Context) error {
	now, err := c.process(ctx)
	if err == nil && now != "" {
		err = fmt.Errorf("the registration agent runs in process %s", now)
	}
	return err
}

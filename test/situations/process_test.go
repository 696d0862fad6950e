//go:build situations

package situations

import (
	"context"
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
	ended := c.watchEnds(t)
	return func(ctx context.Context) error {
		causes, err := ended(ctx)
		if err == nil && len(causes) < 2 {
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

// noProcess checks that there is no process of the registration agent.
func (c *cluster) noProcess(ctx context.Context) error {
	now, err := c.process(ctx)
	if err == nil && now != "" {
		err = fmt.Errorf("the registration agent runs in process %s", now)
	}
	return err
}

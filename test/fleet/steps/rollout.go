package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// The configurations of the rollout.
const (
	goodConfig   = `{"customizedVariables":null,"resourceRequirements":[{"containerID":"deployments:helloworld-agent:helloworld-agent","resources":{"requests":{"cpu":%q,"memory":"48Mi"}}}]}`
	brokenConfig = `{"customizedVariables":[{"name":"AgentImage","value":%q}]}`
)

// Rollout rolls a configuration out in three groups, and then one whose agents do not start.
func Rollout(ctx context.Context, f *Fleet) error {
	f.say("6. a configuration is rolled out in three groups")
	if err := f.enable(ctx, fmt.Sprintf(byGroup, f.Times.Deadline)); err != nil {
		return err
	}
	if err := f.completed(ctx); err != nil {
		return err
	}
	begin := time.Now()
	if err := f.configure(ctx, fmt.Sprintf(goodConfig, "11m")); err != nil {
		return err
	}
	err := f.awaitWith(ctx, withCPU("11m"), f.Clusters)
	f.Record.Latencies(f.figure(record.Rollout, record.RolledOut, "", "s", 0), f.board.Samples(withCPU("11m"), begin, f.Clusters), f.Size())
	if err != nil {
		return err
	}
	if err := f.completed(ctx); err != nil {
		return err
	}
	return f.broken(ctx)
}

// completed waits until the rollout is over.
func (f *Fleet) completed(ctx context.Context) error {
	return poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		reason, message, err := f.progressing(ctx)
		if err == nil && reason != "Completed" {
			err = fmt.Errorf("the rollout is %s: %s", reason, message)
		}
		return err
	})
}

// broken rolls out an image that does not start, waits until OCM reports that, and takes it back.
func (f *Fleet) broken(ctx context.Context) error {
	decided, err := f.decisions(ctx, namespace, placement)
	if err != nil {
		return err
	}
	var first, others []string
	for _, name := range f.Clusters {
		if decided[name] == 0 {
			first = append(first, name)
		} else {
			others = append(others, name)
		}
	}
	image := f.BrokenImage + ":" + f.mark()
	f.say("   a broken one is rolled out")
	begin := time.Now()
	if err := f.configure(ctx, fmt.Sprintf(brokenConfig, image)); err != nil {
		return err
	}
	failed := f.awaitWith(ctx, withImage(image), first)
	if failed == nil {
		failed = poll(ctx, f.Times.Limit, func(ctx context.Context) error {
			reason, message, err := f.progressing(ctx)
			if err == nil && !timedOut(message) {
				err = fmt.Errorf("OCM does not report that the broken configuration stops: %s: %s", reason, message)
			}
			return err
		})
	}
	if failed == nil {
		f.Record.Add(f.figure(record.Rollout, record.Stopped, "", "s", time.Since(begin).Seconds()))
		failed = f.pause(ctx, f.Times.Deadline) // the next group had time to begin
	}
	_, reached := f.board.Last(withImage(image), first)
	_, beyond := f.board.Last(withImage(image), others)
	f.Record.Judge(f.figure(record.Rollout, record.Reached, "first group", "share", float64(reached)/float64(len(first))), record.AtLeast(1))
	f.Record.Judge(f.figure(record.Rollout, record.Reached, "other groups", "share", float64(beyond)/float64(max(1, len(others)))), record.AtMost(0))
	begin = time.Now()
	err = f.configure(ctx, fmt.Sprintf(goodConfig, "11m"))
	if err == nil {
		err = f.completed(ctx)
	}
	if err == nil {
		f.Record.Add(f.figure(record.Rollout, record.Mended, "", "s", time.Since(begin).Seconds()))
	}
	return errors.Join(failed, err)
}

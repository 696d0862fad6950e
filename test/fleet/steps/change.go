package steps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// rounds is in how many parts the clusters are changed, in which the add-on and the floor take turns: a
// disturbance of the machine then concerns both.
const rounds = 10

// Change changes one ConfigMap in every cluster's namespace by bare writers, and times the copies. It
// ends the floor, whose requests, watches and memory would be among the agents' in later steps.
func Change(ctx context.Context, f *Fleet) error {
	return errors.Join(f.changes(ctx), f.endFloor())
}

func (f *Fleet) changes(ctx context.Context) error {
	f.say("4. one change in every cluster's namespace")
	subjects := []changed{{name: record.Ours, configMap: ourMap}}
	if f.FloorUntil != "" {
		subjects = append(subjects, changed{name: record.Floor, configMap: floorMap})
	}
	for i := range subjects { // the first copy opens connections, and is not counted
		if _, err := f.change(ctx, &changed{configMap: subjects[i].configMap}, f.Clusters); err != nil {
			return fmt.Errorf("copies of %s: %w", subjects[i].name, err)
		}
	}
	part := max(1, f.Size()/rounds)
	var late error
	for i, names := range enumerate(slices.Chunk(f.Clusters, part)) {
		for turn := range subjects {
			s := &subjects[(turn+i)%len(subjects)]
			if missed, err := f.change(ctx, s, names); missed {
				late = err
			} else if err != nil {
				return err
			}
		}
	}
	p99 := map[string]float64{}
	for _, s := range subjects {
		figure := f.figure(record.Change, record.CopyTime, "", "ms", 0)
		figure.Subject = s.name
		f.Record.Latencies(figure, s.samples, f.Size())
		if len(s.samples) > 0 {
			p99[s.name] = float64(record.Percentile(s.samples, 99))
		}
	}
	ratio := math.NaN()
	if p99[record.Floor] > 0 {
		ratio = p99[record.Ours] / p99[record.Floor]
	}
	if f.FloorUntil != "" {
		f.Record.Judge(f.figure(record.Change, record.AgainstFloor, "", "×", ratio), record.AtMost(1.3).For(100, 1000))
	}
	return late
}

func (f *Fleet) endFloor() error {
	if f.FloorUntil == "" {
		return nil
	}
	if err := os.WriteFile(f.FloorUntil, nil, 0o600); err != nil {
		return fmt.Errorf("end the floor: %w", err)
	}
	return nil
}

// changed is who copies a ConfigMap, and how fast.
type changed struct {
	name, configMap string
	samples         []time.Duration
}

// change writes the ConfigMap in the namespaces of the clusters and waits for the copies. missed tells
// that copies did not come, which is a result and does not end the step.
func (f *Fleet) change(ctx context.Context, s *changed, names []string) (missed bool, err error) {
	mark := f.mark()
	event := copied(s.configMap, mark)
	defer f.board.Forget(event)
	begun, err := f.write(ctx, s.configMap, mark, names)
	if err != nil {
		return false, err
	}
	err = f.board.Await(ctx, event, names, f.Times.Limit)
	s.samples = append(s.samples, samples(begun, f.board.Times(event))...)
	return err != nil && ctx.Err() == nil, err
}

// enumerate counts the values of a sequence.
func enumerate[V any](seq func(yield func(V) bool)) func(yield func(int, V) bool) {
	return func(yield func(int, V) bool) {
		i := 0
		for v := range seq {
			if !yield(i, v) {
				return
			}
			i++
		}
	}
}

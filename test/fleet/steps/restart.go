package steps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Restart restarts the controller, lets its leader die, restarts the API server, and cuts clusters off.
func Restart(ctx context.Context, f *Fleet) error {
	return errors.Join(f.restartController(ctx), f.killLeader(ctx), f.restartServer(ctx), Cut(ctx, f))
}

// restartController stops all controllers and starts them again.
func (f *Fleet) restartController(ctx context.Context) error {
	f.say("5. the controller restarts")
	begin := time.Now()
	if err := f.stopControllers(); err != nil {
		return err
	}
	if err := f.startControllers(ctx); err != nil {
		return err
	}
	f.Record.Add(f.figure(record.Restart, record.ControllerBack, "", "s", time.Since(begin).Seconds()))
	return nil
}

// killLeader ends the controller that works without a chance to release its lease.
func (f *Fleet) killLeader(ctx context.Context) error {
	leader, err := f.leader()
	if err != nil {
		return err
	}
	f.say("   its leader, %s, dies", leader.Name)
	begin := time.Now()
	if err := leader.Kill(); err != nil {
		return err
	}
	f.controllers = slices.DeleteFunc(f.controllers, func(p *controller.Process) bool { return p == leader })
	if _, err := f.awaitLeader(ctx); err != nil {
		return err
	}
	f.Record.Add(f.figure(record.Restart, record.Takeover, "", "s", time.Since(begin).Seconds()))
	return f.startController(leader.Name)
}

// restartServer restarts the hub's API server, and changes a ConfigMap in every cluster's namespace as
// soon as it answers: a cluster whose copy follows has its agent back.
func (f *Fleet) restartServer(ctx context.Context) error {
	f.say("   the hub's API server restarts")
	server := process.SwitchOf(filepath.Join(f.Dir, "hub"), apiServer)
	begin := time.Now()
	if err := server.Off(ctx); err != nil {
		return err
	}
	if err := server.On(ctx); err != nil {
		return err
	}
	if err := poll(ctx, f.Times.Limit, f.ready); err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	f.say("   it answers after %s", time.Since(begin).Round(100*time.Millisecond))
	group, groupCtx := errgroup.WithContext(ctx)
	sampling, stop := context.WithCancel(groupCtx)
	defer stop()
	var peak float64
	var missed, notRead error
	group.Go(func() error {
		peak, notRead = f.peak(sampling)
		return nil
	})
	group.Go(func() error {
		defer stop()
		mark := f.mark()
		err := poll(groupCtx, f.Times.Limit, func(ctx context.Context) error {
			_, err := f.write(ctx, ourMap, mark, f.Clusters)
			return err
		})
		if err != nil {
			return err
		}
		event := copied(ourMap, mark)
		missed = f.awaitWith(groupCtx, event, f.Clusters)
		f.Record.Latencies(f.figure(record.Restart, record.AgentsBack, "", "s", 0), f.board.Samples(event, begin, f.Clusters), f.Size())
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	f.Record.Add(f.figure(record.Restart, record.PeakRate, "", "per s", peak))
	return errors.Join(missed, notRead, f.lists(ctx))
}

func (f *Fleet) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return f.kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// scraped is a counter's value at some moment between begin and end.
type scraped struct {
	begin, end time.Time
	n          float64
}

const (
	// peakPause is the time between two reads of the API server's counter.
	peakPause = 250 * time.Millisecond
	// peakWindow is the shortest time over which peak takes the rate.
	peakWindow = time.Second
)

// peak returns the largest rate of requests over a second or longer, until ctx ends. A read may fail right after the API
// server's start.
func (f *Fleet) peak(ctx context.Context) (float64, error) {
	var samples []scraped
	var last error
	read := func(ctx context.Context) {
		begin := time.Now()
		metrics, err := f.serverMetrics(ctx)
		if err != nil {
			last = err
			return
		}
		samples = append(samples, scraped{begin, time.Now(), metrics.Sum(allRequests)})
	}
	for {
		read(ctx)
		select {
		case <-ctx.Done():
			read(context.WithoutCancel(ctx)) // the whole burst may be since the last one
			rate := largestRate(samples, peakWindow)
			if math.IsNaN(rate) {
				return rate, fmt.Errorf("measure the peak of the requests: the counter was read %d times: %w", len(samples), last)
			}
			return rate, nil
		case <-time.After(peakPause):
		}
	}
}

// largestRate returns the largest increase per second between two samples that are at least a window apart. When all samples
// lie within a window, their increase counts for a whole one. It returns NaN for fewer than two samples.
//
// The time between two samples is from the begin of the first to the end of the second, so a slow answer makes no rate
// larger than it was.
func largestRate(samples []scraped, window time.Duration) float64 {
	if len(samples) < 2 {
		return math.NaN()
	}
	span := func(a, b scraped) time.Duration { return b.end.Sub(a.begin) }
	if first, last := samples[0], samples[len(samples)-1]; span(first, last) < window {
		return (last.n - first.n) / window.Seconds()
	}
	most := 0.0
	for i, a := range samples {
		for _, b := range samples[i+1:] {
			if span(a, b) >= window {
				most = max(most, (b.n-a.n)/span(a, b).Seconds())
			}
		}
	}
	return most
}

// lists compares the lists since the API server's start with the watches of the same agents.
func (f *Fleet) lists(ctx context.Context) error {
	if err := f.quiet(ctx, 5*time.Second); err != nil {
		return err
	}
	metrics, err := f.serverMetrics(ctx)
	if err != nil {
		return err
	}
	const watchesOfAgent, watchesOfOCM = 2, 4 // for each cluster
	for _, c := range []struct {
		label   string
		ours    bool
		counts  flows.Counts
		watches int
	}{
		{"add-on agents", true, f.ofAgents.Count(metrics), watchesOfAgent * f.Size()},
		{"OCM's agents", false, f.ofOCM.Count(metrics), watchesOfOCM * f.Size()},
	} {
		figure := f.figure(record.Restart, record.ListsPerWatch, c.label, "lists", c.counts[flows.Lists]/float64(c.watches))
		if c.ours {
			f.Record.Judge(figure, record.AtMost(1))
		} else {
			f.Record.Add(figure)
		}
	}
	return nil
}

// Cut cuts a tenth of the clusters off, changes a ConfigMap everywhere, and mends the links.
func Cut(ctx context.Context, f *Fleet) error {
	f.say("   a tenth of the clusters is cut off for %s", f.Times.Cut)
	names, err := f.Sandbox.CutShare(ctx, float64(tenth(f.Size()))/float64(f.Size()), false)
	if err != nil {
		return err
	}
	mark := f.mark()
	event, others := copied(ourMap, mark), without(f.Clusters, names)
	begun, err := f.write(ctx, ourMap, mark, f.Clusters)
	if err == nil {
		err = f.awaitWith(ctx, event, others)
	}
	if err == nil {
		err = f.pause(ctx, f.Times.Cut)
	}
	if err != nil {
		_, mendErr := f.Sandbox.CutShare(context.WithoutCancel(ctx), float64(len(names))/float64(f.Size()), true)
		return errors.Join(err, mendErr)
	}
	_, seen := f.board.Last(event, names)
	f.Record.Judge(f.figure(record.Restart, record.CutCopies, "", "clusters", float64(seen)), record.AtMost(0))
	times := f.board.Times(event)
	for _, name := range names {
		delete(begun, name)
	}
	f.Record.Latencies(f.figure(record.Restart, record.OthersCopy, "", "ms", 0), samples(begun, times), len(others))
	begin := time.Now()
	if _, err := f.Sandbox.CutShare(ctx, float64(len(names))/float64(f.Size()), true); err != nil {
		return err
	}
	err = f.awaitWith(ctx, event, names)
	f.Record.Latencies(f.figure(record.Restart, record.CatchUp, "", "s", 0), f.board.Samples(event, begin, names), len(names))
	return err
}

package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/test/bench/figures"
	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/requests"
	"open-cluster-management.io/helloworld-addon/test/bench/subject"
)

// sample is what the subject has used and asked by a moment.
type sample struct {
	usage                    procfs.Usage
	usageAt, countedAt       time.Time
	hub, managed, controller requests.Counts
}

// idle watches the agent while nothing happens, outside the subject's turn; it
// returns RssAnon in MB.
func (m *measurement) idle(ctx context.Context, n int) (anon float64, err error) {
	setting := report.Count(n) + " ConfigMaps"
	m.say("idle for %s with %s", m.Idle, setting)
	m.turn.give()
	if err := pause(ctx, m.Settle); err != nil {
		return 0, err
	}
	before, err := m.sample(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, m.Idle); err != nil {
		return 0, err
	}
	after, err := m.sample(ctx)
	if err != nil {
		return 0, err
	}
	if err := after.plausible(); err != nil {
		return 0, err
	}
	window := after.countedAt.Sub(before.countedAt)
	m.addRequests(report.IdleHub, setting, after.hub.Since(before.hub), window)
	m.addRequests(report.IdleManaged, setting, after.managed.Since(before.managed), window)
	if m.counters.controller != nil {
		m.addRequests("idle requests of the controller, hub", setting, after.controller.Since(before.controller), window)
	}
	m.addCPU(setting, before, after)
	m.add("RSS", setting, "", "MB", megabytes(after.usage.RSS), "")
	m.add(report.RSSAnon, setting, "", "MB", megabytes(after.usage.Anon), "")
	return megabytes(after.usage.Anon), m.turn.take(ctx)
}

func (m *measurement) sample(ctx context.Context) (s sample, err error) {
	if s.usage, err = procfs.Find(m.supervisor, m.subject.Process); err != nil {
		return s, err
	}
	s.usageAt = time.Now()
	if s.hub, err = m.counters.hub.Count(ctx); err != nil {
		return s, err
	}
	if s.managed, err = m.counters.managed.Count(ctx); err != nil {
		return s, err
	}
	if m.counters.controller != nil {
		s.controller, err = m.counters.controller.Count(ctx)
	}
	s.countedAt = time.Now()
	return s, err
}

// plausible reports whether the requests are counted at all: an agent that has
// copied something has watched the hub and written to the managed cluster.
func (s sample) plausible() error {
	if s.hub[requests.Watch] == 0 || s.managed[requests.Write] == 0 {
		return fmt.Errorf("the API servers counted no watch of the hub or no write to the managed cluster by the agent: it is not the user that was expected (counted: hub %v, managed cluster %v)",
			s.hub, s.managed)
	}
	return nil
}

func (m *measurement) addRequests(metric, setting string, counts requests.Counts, window time.Duration) {
	reads, writes, note := counts[requests.Read], counts[requests.Write], ""
	if reads+writes > 0 {
		note = fmt.Sprintf("%.0f read and %.0f written in %s", reads, writes, window.Round(time.Second))
	}
	m.add(metric, setting, report.ReadsAndWrites, "per min", figures.PerMinute(reads+writes, window), note)
	m.add(metric, setting, "watches", "per min", figures.PerMinute(counts[requests.Watch], window), "")
	m.add(metric, setting, "leases", "per min", figures.PerMinute(counts[requests.Lease], window), "")
}

func (m *measurement) addCPU(setting string, before, after sample) {
	used, window := (after.usage.CPU - before.usage.CPU).Seconds(), after.usageAt.Sub(before.usageAt)
	note := ""
	if before.usage.PID != after.usage.PID {
		used, note = math.NaN(), "the agent was restarted while it was idle"
	}
	m.add(report.IdleCPU, setting, "seconds", "per min", figures.PerMinute(used, window), note)
	m.add(report.IdleCPU, setting, "millicores", "", 1000*figures.PerSecond(used, window), note)
}

// addGrowth is the memory of a further ConfigMap, in KB of a thousand bytes.
func (m *measurement) addGrowth(anonFew, anonMany float64, few, many int) {
	setting := fmt.Sprintf("from %s to %s", report.Count(few), report.Count(many))
	m.add(report.RSSAnonGrowth, setting, "", "KB", 1000*figures.Slope(anonFew, anonMany, few, many), "")
}

// addRestarts tells of an agent that crashed under way.
func (m *measurement) addRestarts(ctx context.Context) error {
	pods, err := m.sandbox.Managed.CoreV1().Pods(subject.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the agent's pods: %w", err)
	}
	restarts := 0
	for i := range pods.Items {
		for _, status := range pods.Items[i].Status.ContainerStatuses {
			restarts += int(status.RestartCount)
		}
	}
	m.add("crashes of the agent since the restart", "", "", "", float64(restarts), "")
	return nil
}

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

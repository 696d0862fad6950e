package agent

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
)

const (
	// announcePeriod is the time between two checks of the state. A hub that stops
	// answering causes no notification.
	announcePeriod = 10 * time.Second
	// repeatPeriod is the time after which a bad state is announced again. API servers
	// delete events after an hour by default (kube-apiserver --event-ttl).
	repeatPeriod = 30 * time.Minute
	// gap is the shortest time between two events. Their times have a resolution of
	// one second, and the last event must be the last in a sorted list.
	gap = 1100 * time.Millisecond
)

// announcer announces changes of the state of the connection to the hub.
type announcer struct {
	state func() credentials.State
	clock clock.WithTicker
	// write writes an Event. It is nil if the agent does not run in a pod.
	write   func(kind, reason, message string)
	changed retry.Signal

	// last is the last announced state, since the time of its announcement.
	last  credentials.State
	since time.Time
}

func newAnnouncer(state func() credentials.State, clock clock.WithTicker, write func(kind, reason, message string)) *announcer {
	return &announcer{state: state, clock: clock, write: write, changed: retry.NewSignal()}
}

// run announces until ctx ends.
func (a *announcer) run(ctx context.Context) {
	ticker := a.clock.NewTicker(announcePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
		case <-ticker.C():
		}
		if !a.step(klog.FromContext(ctx)) {
			continue
		}
		if !retry.Sleep(ctx, a.clock, gap) {
			return
		}
		// The state may have changed during the pause.
		a.changed.Notify()
	}
}

// step announces the state if it has changed, or has been bad for repeatPeriod. It
// reports whether it announced it.
func (a *announcer) step(logger klog.Logger) bool {
	state, now := a.state(), a.clock.Now()
	if state == (credentials.State{}) {
		return false
	}
	if state.Same(a.last) && (!state.Bad || now.Sub(a.since) < repeatPeriod) {
		return false
	}
	a.last, a.since = state, now
	// Package hubclient logs changes of the credentials.
	if state.OfHub() {
		logger.Info("Changed state of the connection to the hub", "reason", state.Reason, "detail", state.Message)
	}
	if a.write != nil {
		kind := corev1.EventTypeNormal
		if state.Bad {
			kind = corev1.EventTypeWarning
		}
		a.write(kind, string(state.Reason), state.Message)
	}
	return true
}

// announce announces in the log, and in Events on the agent's own pod if it runs in
// one.
func (a *agent) announce(ctx context.Context) {
	if a.options.PodName != "" {
		events := report.NewRecorder(ctx, a.home.Events(a.options.Namespace), manifests.AgentName)
		defer events.Close()
		pod := report.PodReference(a.options.Namespace, a.options.PodName, a.options.PodUID)
		a.announcer.write = func(kind, reason, message string) { events.Write(pod, kind, reason, message) }
	}
	var group sync.WaitGroup
	defer group.Wait()
	write := a.announcer.write
	group.Go(func() { a.warnOfRights(ctx, write) })
	a.announcer.run(ctx)
}

// hubState returns the state of the connection to the hub.
func (a *agent) hubState() credentials.State {
	trouble, answered := a.hub.Trouble(), false
	if s := a.session.Load(); s != nil {
		answered = s.addOn.Synced()
		if trouble == nil {
			trouble = s.addOn.Unreadable()
		}
	}
	return credentials.StateOf(a.hub.Status(), answered, trouble, a.clock.Now())
}

// hubChanged handles a change of the hub's credentials.
func (a *agent) hubChanged(change hubclient.Change) {
	// Waiting for the first credentials is no failure.
	if change != hubclient.Refused || a.hub.Status().Connected() {
		a.metrics.HubCredentials(change)
	}
	a.announcer.changed.Notify()
	if s := a.session.Load(); s != nil {
		s.reporter.Notify()
	}
}

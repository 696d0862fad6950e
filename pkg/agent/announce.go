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
	// announcePeriod is how often the state is looked at without a sign that
	// it has changed: of a hub that stops to answer there is none.
	announcePeriod = 10 * time.Second
	// repeatPeriod is how often a bad state is told again. API servers forget
	// events after an hour.
	repeatPeriod = 30 * time.Minute
	// gap is what lies between two events at least: their times are whole
	// seconds, and the last one has to be the last in a sorted list.
	gap = 1100 * time.Millisecond
)

// announcer tells by events how the agent stands with its hub.
type announcer struct {
	state func() credentials.State
	clock clock.WithTicker
	// write writes an event; nil where there is no pod to write it on.
	write   func(kind, reason, message string)
	changed retry.Signal

	last credentials.State
	told time.Time
}

func newAnnouncer(state func() credentials.State, clock clock.WithTicker, write func(kind, reason, message string)) *announcer {
	return &announcer{state: state, clock: clock, write: write, changed: retry.NewSignal()}
}

// run tells until ctx ends.
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

// step tells of the state when it is another one than before, and again when it
// has been bad for long. It returns whether it has.
func (a *announcer) step(logger klog.Logger) bool {
	state, now := a.state(), a.clock.Now()
	if state == (credentials.State{}) {
		return false
	}
	if state.Same(a.last) && (!state.Bad || now.Sub(a.told) < repeatPeriod) {
		return false
	}
	a.last, a.told = state, now
	// Of the credentials the log tells when they change.
	if state.OfHub() {
		logger.Info("The connection to the hub has changed its state", "reason", state.Reason, "detail", state.Message)
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

// announce tells by the log, and by events on the agent's own pod, where it is
// known.
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

// hubState is how the agent stands with its hub.
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

// hubChanged is told what became of the hub's credentials.
func (a *agent) hubChanged(change hubclient.Change) {
	// To wait for the first ones is no failure.
	if change != hubclient.Refused || a.hub.Status().Connected() {
		a.metrics.HubCredentials(change)
	}
	a.announcer.changed.Notify()
	if s := a.session.Load(); s != nil {
		s.reporter.Notify()
	}
}

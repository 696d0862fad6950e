package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/metrics"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/mirrored"
	"open-cluster-management.io/helloworld-addon/pkg/agent/uninstall/gate"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// session is the work with one connection to the hub: the mirror, its gate, and the
// reports.
type session struct {
	agent    *agent
	addOn    *view.View[*condition.AddOn]
	mirror   *mirror.Controller
	reporter *report.Reporter
	mirrored *mirrored.Reporter
	events   *report.Events

	mu sync.Mutex
	// stopped is the UID of the add-on that is being uninstalled, empty if none is.
	stopped types.UID
	// closed and letGo are the last known states: whether the gate was closed, and
	// whether held deletions were released.
	closed, letGo bool
}

// serve mirrors from one hub until ctx ends.
func (a *agent) serve(ctx context.Context, config *rest.Config) error {
	hub, err := kubeclient.New(config)
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	s, err := a.newSession(ctx, hub)
	if err != nil {
		return err
	}
	defer s.events.Close()
	a.session.Store(s)
	defer a.session.Store(nil)
	group.Go(func() error { s.addOn.Run(); return nil })
	group.Go(func() error { s.reporter.Run(ctx); return nil })
	group.Go(func() error { s.mirrored.Run(ctx); return nil })
	group.Go(func() error { return s.mirror.Run(ctx) })
	return group.Wait()
}

func (a *agent) newSession(ctx context.Context, hub *kubeclient.Client) (*session, error) {
	cluster, namespace := a.options.ClusterName, a.options.Namespace
	s := &session{agent: a, closed: true}
	s.reporter = report.New(report.Config{
		AddOn: s.addOnOnHub, State: s.state, Trouble: s.trouble, Patcher: hub.AddOns(cluster), Clock: a.clock,
	})
	s.events = report.NewEvents(ctx, hub.Events(cluster), cluster, a.clock)
	copies := a.managed.ConfigMaps(namespace)
	s.mirror = mirror.New(mirror.Config{
		Scope: plan.Scope{HubNamespace: cluster, InstallNamespace: namespace},
		Hub:   hub.ConfigMaps(cluster), Copies: copies, Writer: copies, Clock: a.clock,
		DeletionHold: a.options.DeletionHold, Released: s.released,
		Gate: s.gate, Observer: observer{a.metrics, s.events, namespace, cluster}, Looked: s.looked, QueueMetrics: a.metrics.Queue(),
	})
	s.mirrored = mirrored.New(mirrored.Config{
		Cluster: cluster, Client: hub.Mirrors(cluster), Clock: a.clock, Status: s.mirror.MirrorStatus,
		Ready: func() bool { return s.mirror.Listed() && s.mirror.Stopped() == nil },
	})
	var err error
	s.addOn, err = view.New(ctx, "ManagedClusterAddOn "+cluster+"/"+manifests.AddonName,
		view.Selected[*addonv1alpha1.ManagedClusterAddOnList]{
			Reader:   view.Announced[*addonv1alpha1.ManagedClusterAddOnList]{Reader: hub.AddOns(cluster), Listing: s.mirrored.Reread},
			Selector: fields.OneTermEqualSelector("metadata.name", manifests.AddonName).String()},
		&addonv1alpha1.ManagedClusterAddOn{}, condition.NewAddOn, func(string) { s.addOnChanged() })
	return s, err
}

func (s *session) addOnOnHub() *condition.AddOn {
	return s.addOn.Get(s.agent.options.ClusterName, manifests.AddonName)
}

// gate returns nil if the mirror may write. Marker may be nil.
func (s *session) gate(marker *plan.Copy) error {
	known := gate.AddOn{Known: s.addOn.Synced()}
	if addOn := s.addOnOnHub(); addOn != nil {
		known.UID, known.Deleting, known.Reported = addOn.UID, addOn.Deleting, addOn.Condition != nil
	}
	var uid types.UID
	if marker != nil && marker.Meta != nil {
		uid = types.UID(marker.Meta.Labels[manifests.UninstallLabel])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := gate.Check(known, uid, s.stopped)
	s.stopped = gate.StoppedFor(known, uid, s.stopped, err)
	return err
}

// released reports whether the add-on's annotation releases held deletions.
func (s *session) released() bool {
	addOn := s.addOnOnHub()
	return addOn != nil && addOn.Released
}

// looked is called after each look at a name.
func (s *session) looked() {
	s.reporter.Notify()
	s.mirrored.Notify()
	s.agent.trimmer.worked.Notify()
}

// addOnChanged compares every name again if the mirror may now write more.
func (s *session) addOnChanged() {
	s.agent.announcer.changed.Notify()
	closed, released := s.mirror.Stopped() != nil, s.released()
	s.mu.Lock()
	more := s.closed && !closed || released && !s.letGo
	s.closed, s.letGo = closed, released
	s.mu.Unlock()
	if more {
		s.mirror.Resync()
	}
	s.reporter.Notify()
	s.mirrored.Notify()
}

// trouble returns the reason why the hub or the managed cluster cannot be read. It is
// empty if both can.
func (s *session) trouble() string {
	if err := s.mirror.Unreadable(); err != nil {
		return credentials.OneLine(err)
	}
	return ""
}

// state returns the state to report.
func (s *session) state() condition.State {
	summary := s.mirror.Summary()
	state := condition.State{
		Uninstalling: errors.Is(s.mirror.Stopped(), gate.ErrUninstalling),
		Trouble:      s.trouble(),
		Listed:       s.mirror.Listed(),
		Wanted:       summary.Wanted,
		Synced:       summary.Synced,
		Conflicts:    summary.Conflicts,
		Held:         summary.Held,
		HeldUntil:    summary.HeldUntil,
		Cluster:      s.agent.options.ClusterName,
		Warning:      s.agent.hub.Status().Warning(),
	}
	state.Failed, state.FailedReason = namesOf(summary.Failed)
	state.Contested, state.ContestedReason = namesOf(summary.Contested)
	return state
}

// namesOf returns the failures' names, and the reason of the first.
func namesOf(failures []plan.Failure) (names []string, reason string) {
	for _, failure := range failures {
		names = append(names, failure.Name)
	}
	if len(failures) > 0 {
		reason = failures[0].Reason
	}
	return names, reason
}

// observer passes the mirror's notifications to metrics and events.
type observer struct {
	*metrics.Metrics
	events             *report.Events
	namespace, cluster string
}

// NotInSync writes an event on the ConfigMap on the hub.
func (o observer) NotInSync(failure plan.Failure, uid types.UID) {
	reason, message := report.EventFailed, failure.Reason
	switch failure.Kind {
	case plan.Conflict:
		reason = report.EventConflict
	case plan.Contested:
		reason = report.EventContested
	default:
		message = fmt.Sprintf("namespace %s on cluster %s: %s", o.namespace, o.cluster, message)
	}
	o.events.Warn(failure.Name, uid, reason, message)
}

// summary returns what the metrics count, nil before both sides are listed.
func (a *agent) summary() *plan.Summary {
	if s := a.session.Load(); s != nil && s.mirror.Listed() {
		summary := s.mirror.Summary()
		return &summary
	}
	return nil
}

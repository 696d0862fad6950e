package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/metrics"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report"
	"open-cluster-management.io/helloworld-addon/pkg/agent/uninstall"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// session is the work on one hub: the mirror, what lets it write, and the
// reports about it.
type session struct {
	agent    *agent
	addOn    *view.View[*report.AddOn]
	mirror   *mirror.Controller
	reporter *report.Reporter
	events   *report.Events

	mu sync.Mutex
	// stopped is the add-on's UID for which the mirror was stopped for good.
	stopped types.UID
	// closed says that the mirror was not allowed to write.
	closed bool
}

// serve works on one hub until ctx ends.
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
	group.Go(func() error { return s.mirror.Run(ctx) })
	return group.Wait()
}

func (a *agent) newSession(ctx context.Context, hub *kubeclient.Client) (*session, error) {
	cluster, namespace := a.options.ClusterName, a.options.Namespace
	s := &session{agent: a, closed: true}
	s.reporter = report.New(report.Config{
		AddOn: s.addOnOnHub, State: s.state, Trouble: s.trouble, Patcher: hub.AddOns(cluster), Clock: a.clock,
	})
	s.events = report.NewEvents(ctx, hub.Events(cluster), cluster,
		fmt.Sprintf("namespace %s of cluster %s", namespace, cluster), a.clock)
	copies := a.managed.ConfigMaps(namespace)
	s.mirror = mirror.New(mirror.Config{
		Scope: mirror.Scope{HubNamespace: cluster, InstallNamespace: namespace},
		Hub:   hub.ConfigMaps(cluster), Copies: copies, Writer: copies, Clock: a.clock,
		Gate: s.gate, Observer: observer{a.metrics, s.events}, Looked: s.looked, QueueMetrics: a.metrics.Queue(),
	})
	var err error
	s.addOn, err = view.New(ctx, "ManagedClusterAddOn "+cluster+"/"+manifests.AddonName,
		view.Selected[*addonv1alpha1.ManagedClusterAddOnList]{Reader: hub.AddOns(cluster),
			Selector: fields.OneTermEqualSelector("metadata.name", manifests.AddonName).String()},
		&addonv1alpha1.ManagedClusterAddOn{}, report.NewAddOn, func(string) { s.addOnChanged() })
	return s, err
}

func (s *session) addOnOnHub() *report.AddOn {
	return s.addOn.Get(s.agent.options.ClusterName, manifests.AddonName)
}

// gate says whether the mirror may write.
func (s *session) gate(marker *mirror.Copy) error {
	known := uninstall.AddOn{Known: s.addOn.Synced()}
	if addOn := s.addOnOnHub(); addOn != nil {
		known.UID, known.Deleting, known.Reported = addOn.UID, addOn.Deleting, addOn.Condition != nil
	}
	var uid types.UID
	if marker != nil && marker.Meta != nil {
		uid = types.UID(marker.Meta.Labels[manifests.UninstallLabel])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := uninstall.Gate(known, uid, s.stopped)
	s.stopped = uninstall.StoppedFor(known, uid, s.stopped, err)
	return err
}

// looked is called when the mirror has looked at a name.
func (s *session) looked() {
	s.reporter.Notify()
	s.agent.trimmer.work()
}

// addOnChanged looks at everything again when the mirror may write again.
func (s *session) addOnChanged() {
	s.agent.announcer.notify()
	closed := s.mirror.Stopped() != nil
	s.mu.Lock()
	opened := s.closed && !closed
	s.closed = closed
	s.mu.Unlock()
	if opened {
		s.mirror.Resync()
	}
	s.reporter.Notify()
}

// trouble says why a side cannot be read.
func (s *session) trouble() string {
	if err := s.mirror.Unreadable(); err != nil {
		return oneLine(err)
	}
	return ""
}

// oneLine is an error's message without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// state is what there is to report.
func (s *session) state() report.State {
	summary := s.mirror.Summary()
	state := report.State{
		Uninstalling:  errors.Is(s.mirror.Stopped(), uninstall.ErrUninstalling),
		Trouble:       s.trouble(),
		Listed:        s.mirror.Listed(),
		SameNamespace: summary.SameNamespace,
		Wanted:        summary.Wanted,
		Synced:        summary.Synced,
		Conflicts:     summary.Conflicts,
		Warning:       s.agent.hub.Status().Warning(),
	}
	for _, failure := range summary.Failed {
		state.Failed = append(state.Failed, failure.Name)
		if state.FailedReason == "" {
			state.FailedReason = failure.Reason
		}
	}
	return state
}

// observer hands on what the mirror tells.
type observer struct {
	*metrics.Metrics
	events *report.Events
}

// NotInSync writes an event on the ConfigMap on the hub.
func (o observer) NotInSync(failure mirror.Failure, uid types.UID) {
	reason := report.EventFailed
	if failure.Kind == mirror.Conflict {
		reason = report.EventConflict
	}
	o.events.Warn(failure.Name, uid, reason, failure.Reason)
}

// summary is what the metrics count, nil while there is no mirror.
func (a *agent) summary() *mirror.Summary {
	if s := a.session.Load(); s != nil && s.mirror.Listed() {
		summary := s.mirror.Summary()
		return &summary
	}
	return nil
}

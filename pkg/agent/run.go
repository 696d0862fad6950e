package agent

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/httpserver"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
	"open-cluster-management.io/helloworld-addon/pkg/agent/metrics"
	"open-cluster-management.io/helloworld-addon/pkg/agent/uninstall/gate"
)

// Run runs the agent until ctx ends. It returns an error if the agent cannot continue.
// Every goroutine that it started has ended when it returns.
func Run(ctx context.Context, options *Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	a, err := newAgent(options)
	if err != nil {
		return err
	}
	// Every pod can reach the health address, so details are on loopback only.
	servers, err := httpserver.ListenAll(ctx,
		httpserver.Endpoint{Flag: manifests.FlagHealthBindAddress, Address: options.HealthBindAddress,
			Handler: httpserver.HealthHandler(a.checks(), false)},
		httpserver.Endpoint{Flag: manifests.FlagMetricsBindAddress, Address: options.MetricsBindAddress,
			Handler: httpserver.MetricsHandler(a.metrics.Registry, a.checks())})
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		group.Go(func() error { return s.Run(ctx) })
	}
	group.Go(func() error { return a.hub.Run(ctx, a.serve) })
	group.Go(func() error {
		a.lease.Run(ctx)
		return nil
	})
	group.Go(func() error {
		a.announce(ctx)
		return nil
	})
	group.Go(func() error {
		a.trimmer.run(ctx)
		return nil
	})
	err = group.Wait()
	logger.Info("Stopped")
	return err
}

type agent struct {
	options *Options
	clock   clock.WithTickerAndDelayedExecution
	managed *kubeclient.Client
	// home is the client of the cluster where the agent runs, with its lease and the
	// hub's credentials. It equals managed unless the agent is hosted.
	home      *kubeclient.Client
	hub       *hubclient.Manager
	lease     *lease.Renewer
	metrics   *metrics.Metrics
	announcer *announcer
	trimmer   *trimmer
	// session is nil while there is no connection to the hub.
	session atomic.Pointer[session]
}

func newAgent(options *Options) (*agent, error) {
	a := &agent{options: options, clock: clock.RealClock{}}
	err := a.connect()
	if err != nil {
		return nil, err
	}
	a.hub = a.newHub()
	a.announcer = newAnnouncer(a.hubState, a.clock, nil)
	trim := options.Trim
	if trim == nil {
		trim = debug.FreeOSMemory
	}
	a.trimmer = newTrimmer(a.clock, trim)
	a.metrics = metrics.New(a.clock, metrics.Sources{Summary: a.summary, Hub: a.hub.Status})
	a.lease = lease.New(lease.Config{
		Spec: lease.Spec{
			Namespace: options.Namespace, Name: manifests.AgentLease,
			Holder: holder(), Duration: options.LeaseDuration,
		},
		Client:  a.home.Leases(options.Namespace),
		Healthy: a.mayRenew,
		Clock:   a.clock,
	})
	return a, nil
}

func (a *agent) newHub() *hubclient.Manager {
	base := &rest.Config{}
	a.limit(base)
	config := hubclient.Config{Policy: a.hubPolicy(), Base: base, Clock: a.clock, Changed: a.hubChanged}
	if a.options.HubKubeconfig != "" {
		config.Policy.ByHand = true
		config.Source = hubclient.NewFileSource(a.options.HubKubeconfig, a.clock)
	} else {
		config.Source = hubclient.NewSecretSource(a.home.Secrets(a.options.Namespace),
			a.options.Namespace, a.options.HubKubeconfigSecret, a.clock)
	}
	return hubclient.New(config)
}

// hubPolicy returns the requirements on the hub's credentials.
func (a *agent) hubPolicy() credentials.Policy {
	return credentials.Policy{
		Identity: credentials.Identity{ClusterName: a.options.ClusterName, AddonName: manifests.AddonName}}
}

// mayRenew returns nil if the lease may be renewed. While the add-on is being deleted
// it may not, because the pre-delete hook deletes the lease.
func (a *agent) mayRenew() error {
	if s := a.session.Load(); s != nil {
		if err := s.mirror.Stopped(); errors.Is(err, gate.ErrUninstalling) {
			return err
		}
	}
	return httpserver.FirstFailure(a.checks())
}

// checks returns the checks of /readyz. The lease is renewed only while they pass.
func (a *agent) checks() []httpserver.Check {
	return []httpserver.Check{
		{Name: "hub-credentials", Err: a.hub.Ready, Detail: func() string { return a.hub.Status().Detail() }},
		{Name: "hub", Err: a.hub.Trouble},
		{Name: "mirror", Err: func() error {
			s := a.session.Load()
			if s == nil {
				return errors.New("not started: waiting for the hub's credentials")
			}
			stopped := s.mirror.Stopped()
			if errors.Is(stopped, gate.ErrUninstalling) {
				// Writing nothing is right during the uninstall.
				stopped = nil
			}
			return errors.Join(stopped, s.mirror.Ready(), s.mirror.Stuck())
		}},
	}
}

// holder returns the holder identity of the lease: in a pod the pod's name.
func holder() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return manifests.AgentName
	}
	return name
}

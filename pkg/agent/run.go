package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror"
)

// Run is the agent. It returns nil when ctx ends, and an error when it cannot
// go on; all that it started has ended then.
func Run(ctx context.Context, options *Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	a, err := newAgent(options)
	if err != nil {
		return err
	}
	servers, err := a.listen()
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		group.Go(func() error { return s.run(ctx) })
	}
	group.Go(func() error { return a.runOnHub(ctx) })
	group.Go(func() error {
		a.lease.Run(ctx)
		return nil
	})
	err = group.Wait()
	logger.Info("Stopped")
	return err
}

type agent struct {
	options *Options
	clock   clock.WithTicker
	managed *kubeclient.Client
	// fileHub is the hub's configuration from a file; nil: from the secret.
	fileHub *rest.Config
	hub     *hubclient.Manager
	lease   *lease.Renewer
	// mirror is nil while there is no connection to the hub.
	mirror atomic.Pointer[mirror.Controller]
}

func newAgent(options *Options) (*agent, error) {
	a := &agent{options: options, clock: clock.RealClock{}}
	config, err := a.managedConfig()
	if err != nil {
		return nil, err
	}
	if a.managed, err = kubeclient.New(config); err != nil {
		return nil, fmt.Errorf("connect to the managed cluster: %w", err)
	}
	if options.HubKubeconfig != "" {
		if a.fileHub, err = hubclient.FromFile(options.HubKubeconfig); err != nil {
			return nil, fmt.Errorf("--%s: %w", manifests.FlagHubKubeconfig, err)
		}
		a.limit(a.fileHub)
	} else {
		a.hub = a.newHub()
	}
	a.lease = lease.New(lease.Config{
		Spec: lease.Spec{
			Namespace: options.Namespace, Name: manifests.AgentLease,
			Holder: holder(), Duration: options.LeaseDuration,
		},
		Client:  a.managed.Leases(options.Namespace),
		Healthy: func() error { return firstFailure(a.checks()) },
		Clock:   a.clock,
	})
	return a, nil
}

func (a *agent) newHub() *hubclient.Manager {
	base := &rest.Config{}
	a.limit(base)
	return hubclient.New(hubclient.Config{
		Secrets:    a.managed.Secrets(a.options.Namespace),
		Namespace:  a.options.Namespace,
		SecretName: a.options.HubKubeconfigSecret,
		Identity:   hubclient.Identity{ClusterName: a.options.ClusterName, AddonName: manifests.AddonName},
		Base:       base,
		Clock:      a.clock,
	})
}

// runOnHub mirrors from the hub, from whichever credentials there are.
func (a *agent) runOnHub(ctx context.Context) error {
	if a.fileHub != nil {
		return a.serve(ctx, a.fileHub)
	}
	return a.hub.Run(ctx, a.serve)
}

// serve mirrors from one hub.
func (a *agent) serve(ctx context.Context, config *rest.Config) error {
	hub, err := kubeclient.New(config)
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	copies := a.managed.ConfigMaps(a.options.Namespace)
	controller := mirror.New(mirror.Config{
		Scope:  mirror.Scope{HubNamespace: a.options.ClusterName, InstallNamespace: a.options.Namespace},
		Hub:    hub.ConfigMaps(a.options.ClusterName),
		Copies: copies,
		Writer: copies,
		Clock:  a.clock,
	})
	a.mirror.Store(controller)
	defer a.mirror.Store(nil)
	return controller.Run(ctx)
}

// checks are what has to be right for the agent to do its work.
func (a *agent) checks() []check {
	return []check{
		{name: "hub-credentials", err: func() error {
			if a.hub == nil {
				return nil
			}
			return a.hub.Ready()
		}},
		{name: "mirror", err: func() error {
			if controller := a.mirror.Load(); controller != nil {
				return controller.Ready()
			}
			return errors.New("not started: it waits for the hub's credentials")
		}},
	}
}

// listen binds all addresses before anything is started.
func (a *agent) listen() ([]*server, error) {
	health, err := listen(manifests.FlagHealthBindAddress, a.options.HealthBindAddress, healthHandler(a.checks()))
	if err != nil {
		return nil, err
	}
	if !a.options.metricsEnabled() {
		return []*server{health}, nil
	}
	metrics, err := listen(manifests.FlagMetricsBindAddress, a.options.MetricsBindAddress, metricsHandler(newRegistry()))
	if err != nil {
		return nil, errors.Join(err, health.listener.Close())
	}
	return []*server{health, metrics}, nil
}

// holder names this agent on the lease: in a pod it is the pod's name.
func holder() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return manifests.AgentName
	}
	return name
}

package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/board"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/members"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Sandbox changes the fleet. It is sandbox/control's.
type Sandbox interface {
	CutShare(ctx context.Context, share float64, up bool) ([]string, error)
	Detach(ctx context.Context, names ...string) error
	Join(ctx context.Context, n int) ([]string, error)
}

// Options are the settings of the steps.
type Options struct {
	// Dir is the sandbox's directory, Work one for kubeconfigs and logs.
	Dir, Work string
	// Clusters are the names of the fleet's clusters.
	Clusters []string
	// Subject is the add-on that is enabled.
	Subject Subject
	// ReplicaSets is the controller of ConfigMapReplicaSets, for the step Distribute.
	ReplicaSets Subject
	// BrokenImage is a part of the images that never become available.
	BrokenImage string
	// FloorUntil is a file that ends the floor, which copies beside the add-on until then. Without a name there is no floor.
	FloorUntil string
	// EnableOn is the number of clusters that the Placement selects; 0 means all. Deploy reduces Clusters to the selected ones.
	EnableOn int
	Times    Times
	// Sandbox changes the fleet.
	Sandbox Sandbox
	Record  *record.Record
	// Out gets the progress.
	Out io.Writer
}

// Times are the durations of the steps.
type Times struct {
	// Settle is how long the fleet is left alone before a count begins.
	Settle time.Duration
	// Idle is how long the idle fleet is watched. Without it, Distribute counts no requests.
	Idle time.Duration
	// Cut is how long clusters are cut off.
	Cut time.Duration
	// Deadline is after which time the rollout counts a cluster as failed.
	Deadline time.Duration
	// CertificateLife is that of the certificates of step 7. With Touch the agents are made
	// to look at them after that time, because on their own they look every five minutes.
	CertificateLife, Touch time.Duration
	// Limit bounds what is waited for, also the fleet's start.
	Limit time.Duration
}

// Fleet is a running fleet with an add-on.
type Fleet struct {
	Options

	config     *rest.Config
	kube       kubernetes.Interface
	dynamic    dynamic.Interface
	members    *members.Client
	board      *board.Board
	supervisor int
	renewal    renewal

	controllers                   []*controller.Process
	replicaSets                   *controller.Process
	scraper                       string
	ofController, ofAgents, ofOCM *flows.Counter
	ofReplicaSets                 *flows.Counter
	begun                         time.Time
}

// Size is the number of clusters.
func (f *Fleet) Size() int { return len(f.Clusters) }

// With connects to the fleet of a sandbox, follows what happens on it while use runs, and ends
// what was started.
func With(ctx context.Context, options Options, use func(context.Context, *Fleet) error) error {
	f := &Fleet{Options: options, board: board.New(), begun: time.Now()}
	if err := f.connect(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	synced := f.follow(ctx, group)
	group.Go(func() (err error) {
		defer cancel()
		defer func() { err = errors.Join(err, f.stopControllers(), f.stopReplicaSets()) }()
		if err := await(ctx, synced, f.Times.Limit); err != nil {
			return fmt.Errorf("begin to follow the fleet: %w", err)
		}
		if err := f.count(ctx); err != nil {
			return err
		}
		return use(ctx, f)
	})
	return group.Wait()
}

// hubConfig returns the administrator's configuration of the hub of the sandbox in dir, without a limit of requests.
func hubConfig(dir string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "hub.kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

func (f *Fleet) connect() error {
	var err error
	if f.config, err = hubConfig(f.Dir); err != nil {
		return err
	}
	if f.kube, err = kubernetes.NewForConfig(f.config); err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	if f.dynamic, err = dynamic.NewForConfig(f.config); err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	if f.members, err = members.Open(f.Dir); err != nil {
		return err
	}
	f.supervisor, err = procfs.Supervisor(f.Dir)
	return err
}

// count installs what counts requests by user.
func (f *Fleet) count(ctx context.Context) error {
	all := []struct {
		counter **flows.Counter
		options flows.Options
	}{
		{&f.ofController, flows.Options{Program: "controller", Level: "workload-low", Kinds: flows.Controller, Subjects: f.Subject.users()}},
		{&f.ofAgents, flows.Options{Program: "agents", Level: "global-default", Kinds: flows.Agents, Subjects: subjects("system:open-cluster-management:addon:helloworld")}},
		{&f.ofOCM, flows.Options{Program: "ocm", Level: "global-default", Kinds: flows.Agents, Subjects: subjects("system:open-cluster-management:managed-clusters")}},
		{&f.ofReplicaSets, flows.Options{Program: "replicasets", Level: "workload-low", Kinds: flows.ReplicaSets, Subjects: f.ReplicaSets.users()}},
	}
	for i, c := range all {
		c.options.Precedence = int32(100 * i) // #nosec G115 -- a small table
		var err error
		if *c.counter, err = flows.Install(ctx, f.kube, c.options); err != nil {
			return err
		}
	}
	return nil
}

func await(ctx context.Context, done *sync.WaitGroup, limit time.Duration) error {
	ended := make(chan struct{})
	go func() {
		done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return fmt.Errorf("not done within %s", limit)
	}
}

// say prints progress.
func (f *Fleet) say(format string, args ...any) {
	fmt.Fprintf(f.Out, "%7s  %s\n", time.Since(f.begun).Round(time.Second), fmt.Sprintf(format, args...))
}

// pause waits, and ends with an error when a controller does.
func (f *Fleet) pause(ctx context.Context, d time.Duration) error {
	end := time.After(d)
	for {
		for _, p := range f.processes() {
			if err := p.Err(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return nil
		case <-time.After(time.Second):
		}
	}
}

// processes are the controllers that run.
func (f *Fleet) processes() []*controller.Process {
	if f.replicaSets == nil {
		return f.controllers
	}
	return append(slices.Clone(f.controllers), f.replicaSets)
}

// poll calls try until it succeeds, and returns its last error after the limit.
func poll(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	end := time.Now().Add(limit)
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not done within %s: %w", limit, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tenth is how many a tenth of the clusters is, at least one.
func tenth(n int) int { return max(1, n/10) }

// without returns the names that are not among the others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

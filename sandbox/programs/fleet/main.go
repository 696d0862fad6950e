// Command ocm-fleet runs simulated managed clusters of Open Cluster Management (OCM) in one process. Each
// has OCM's own agents, with its own key, certificate, connection to the hub, watches and caches,
// and a small API server in memory in place of a managed cluster.
//
// It serves the clusters' APIs at /clusters/NAME, for the agents of an add-on. It does not run
// pods, and it needs a hub: see "ocm-sandbox up --fleet".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/klusterlet"
	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/memapi"
)

// gcPercent is the heap's growth between two collections. The heap of a large fleet is mostly
// caches that do not change, so half of Go's default saves much memory for little CPU.
const gcPercent = 50

// Options are the program's flags.
type Options struct {
	// Config is the path of the configuration, a File.
	Config string
	// Verbosity is the log's verbosity.
	Verbosity int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:])
	stop()
	klog.Flush()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "ocm-fleet: %v\n", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	var o Options
	flags := flag.NewFlagSet("ocm-fleet", flag.ContinueOnError)
	flags.StringVar(&o.Config, "config", "", "path of the configuration that the sandbox writes (DIR/fleet/fleet.json)")
	flags.IntVar(&o.Verbosity, "v", 0, "verbosity of the log; 1 adds the messages of OCM's agents")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.Config == "" {
		return errors.New("--config is missing")
	}
	return run(ctx, o)
}

// run runs the fleet until ctx ends.
func run(ctx context.Context, o Options) error {
	file, err := readFile(o.Config)
	if err != nil {
		return err
	}
	if err := setGlobals(o); err != nil {
		return err
	}
	f, err := newFleet(ctx, file, filepath.Join(filepath.Dir(o.Config), "clusters"))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(ctx, file, handler(f.server.Handler(file.Token), f.metrics, file.Token)) })
	group.Go(func() error {
		f.run(ctx)
		return nil
	})
	return group.Wait()
}

// setGlobals sets what OCM's agents read from the process.
func setGlobals(o Options) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(o.Verbosity)); err != nil {
		return fmt.Errorf("verbosity: %w", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := klusterlet.SetFeatureGates(); err != nil {
		return err
	}
	// An agent that would end its process ends its goroutine, which ends the cluster's
	// agents: they are started again.
	klog.OsExit = func(int) { runtime.Goexit() }
	return nil
}

// newFleet returns the fleet without clusters. The clusters' directories are made in dir, which is
// emptied.
func newFleet(ctx context.Context, file File, dir string) (*fleet, error) {
	bootstrap, err := readBootstrap(file.Bootstrap)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove old clusters' directories: %w", err)
	}
	options := memapi.Options{ReadyAfter: file.ReadyAfter.Duration, BrokenImage: file.BrokenImage, Clock: clock.RealClock{}}
	shared, err := newShared(ctx, options)
	if err != nil {
		return nil, err
	}
	return &fleet{file: file, dir: dir, bootstrap: bootstrap, server: memapi.NewServer(options), shared: shared,
		clock: clock.RealClock{}, metrics: newMetrics(), clusters: map[string]*cluster{}, ended: map[string]*cluster{}}, nil
}

// newShared returns what the clusters share, from a cluster that has only what each of them has.
func newShared(ctx context.Context, options memapi.Options) (*klusterlet.Shared, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const plain = "plain"
	server := memapi.NewServer(options)
	defer server.Remove(plain)
	return klusterlet.NewShared(server.Add(ctx, plain).Config())
}

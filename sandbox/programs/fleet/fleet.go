package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/klusterlet"
	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/memapi"
)

const (
	// pollPeriod is the period with which the fleet looks for new desired clusters.
	pollPeriod = 200 * time.Millisecond
	// restartDelay is the time after which a cluster's agents are started again.
	restartDelay = time.Second
)

// fleet runs the desired clusters.
type fleet struct {
	file      File
	dir       string // the clusters' directories are here
	bootstrap *clientcmdapi.Config
	server    *memapi.Server
	shared    *klusterlet.Shared
	clock     clock.Clock
	metrics   *metrics

	// clusters are those that are running, ended the last ones of their names that were.
	clusters map[string]*cluster
	ended    map[string]*cluster
	all      sync.WaitGroup
}

// cluster is a running cluster.
type cluster struct {
	Member
	cancel context.CancelFunc
	done   chan struct{}
}

// run runs the clusters that the file of members lists until ctx ends.
func (f *fleet) run(ctx context.Context) {
	defer f.all.Wait()
	var seen, failed string
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		version := fileVersion(f.file.Members)
		if version == seen {
			return
		}
		members, err := readMembers(f.file.Members)
		if err != nil {
			if err.Error() != failed {
				klog.ErrorS(err, "Failed to read the desired clusters")
			}
			failed = err.Error()
			return
		}
		seen, failed = version, ""
		f.reconcile(ctx, members)
	}, pollPeriod)
}

// fileVersion returns a value that changes when the file does.
func fileVersion(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// reconcile starts and ends clusters until the desired ones are running.
func (f *fleet) reconcile(ctx context.Context, desired []Member) {
	running := map[string]Member{}
	for name, c := range f.clusters {
		running[name] = c.Member
	}
	start, end := difference(running, desired)
	for _, name := range end {
		f.clusters[name].cancel()
		f.ended[name] = f.clusters[name]
		delete(f.clusters, name)
	}
	for _, m := range start {
		f.start(ctx, m)
	}
	f.metrics.clusters.Set(float64(len(f.clusters)))
	if len(start)+len(end) > 0 {
		klog.InfoS("Changed the clusters", "started", len(start), "ended", len(end), "running", len(f.clusters))
	}
}

// difference returns the clusters to start and the names of those to end. A cluster that is to
// reach the hub in another way is ended and started.
func difference(running map[string]Member, desired []Member) (start []Member, end []string) {
	keep := map[string]bool{}
	for _, m := range desired {
		if running[m.Name] == m {
			keep[m.Name] = true
		} else {
			start = append(start, m)
		}
	}
	for name := range running {
		if !keep[name] {
			end = append(end, name)
		}
	}
	return start, end
}

// start runs a cluster in the background, as soon as the one of its name has ended.
func (f *fleet) start(ctx context.Context, m Member) {
	c := &cluster{Member: m, done: make(chan struct{})}
	ctx, c.cancel = context.WithCancel(ctx)
	previous := f.ended[m.Name]
	delete(f.ended, m.Name)
	f.clusters[m.Name] = c
	f.all.Add(1)
	go func() {
		defer f.all.Done()
		defer close(c.done)
		if previous != nil {
			<-previous.done
		}
		f.runCluster(ctx, m)
	}()
}

// runCluster runs a cluster until ctx ends. Nothing is left of it then.
func (f *fleet) runCluster(ctx context.Context, m Member) {
	dir := filepath.Join(f.dir, m.Name)
	defer func() {
		f.server.Remove(m.Name)
		if err := os.RemoveAll(dir); err != nil {
			klog.ErrorS(err, "Failed to remove the cluster's directory", "cluster", m.Name)
		}
	}()
	options := klusterlet.Options{Name: m.Name, Dir: dir, Managed: f.server.Add(ctx, m.Name).Config(), AddonAuth: f.file.AddonAuth,
		TokenLife: f.file.TokenLife.Duration, StatusSync: f.file.StatusSync.Duration}
	for ctx.Err() == nil {
		err := f.prepare(dir, m)
		if err == nil {
			err = klusterlet.Run(ctx, options, f.shared)
		}
		if ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "Agents ended", "cluster", m.Name)
		f.metrics.restarts.Inc()
		select {
		case <-ctx.Done():
		case <-f.clock.After(restartDelay):
		}
	}
}

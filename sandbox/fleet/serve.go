package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// retry is the delay before another attempt to reach the clusters' APIs.
const retry = time.Second

// kubeletBackOff is the kubelet's back-off for containers that keep ending.
var kubeletBackOff = plan.BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}

// Serve calls the agents' functions for the pods of all clusters of the fleet, until ctx ends and all
// functions have returned. It reads the file that the variable OCM_FLEET names, and returns an error if
// it cannot. While it cannot reach the clusters' APIs, the functions go on and it tries again.
func Serve(ctx context.Context, agents ...Agents) error {
	path := os.Getenv(Environment)
	if path == "" {
		return fmt.Errorf("%s is not set: start this program by ocm-sandbox up --fleet=N --fleet-agents=PROGRAM", Environment)
	}
	file, err := Read[File](path)
	if err != nil {
		return err
	}
	s, err := newServer(file, filepath.Join(filepath.Dir(path), "addon-agents"), agents)
	if err != nil {
		return err
	}
	return s.serve(ctx)
}

// server runs the functions. Its running pods belong to the goroutine of serve.
type server struct {
	agents  []Agents
	managed rest.Config // of no cluster in particular
	ca      []byte
	dir     string // of the clusters' kubeconfigs
	api     *api
	clock   clock.Clock

	running map[podID]context.CancelFunc
	ended   sync.WaitGroup
}

// podID identifies a pod. The clusters draw their UIDs independently.
type podID struct {
	cluster string
	uid     types.UID
}

func newServer(file File, dir string, agents []Agents) (*server, error) {
	if len(agents) == 0 {
		return nil, errors.New("serve a fleet: no agents")
	}
	ca, err := os.ReadFile(file.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the fleet: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of the kubeconfigs: %w", err)
	}
	config := rest.Config{Host: "https://" + file.Address, BearerToken: file.Token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	client, err := rest.HTTPClientFor(&config)
	if err != nil {
		return nil, fmt.Errorf("client of the fleet: %w", err)
	}
	return &server{
		agents: agents, managed: config, ca: ca, dir: dir, api: &api{client: client, url: config.Host},
		clock: clock.RealClock{}, running: map[podID]context.CancelFunc{},
	}, nil
}

func (s *server) serve(ctx context.Context) error {
	defer s.ended.Wait()
	var names []string
	for _, a := range s.agents {
		names = append(names, a.Image)
	}
	for ctx.Err() == nil {
		listed := map[podID]bool{}
		err := s.api.stream(ctx, names, func(e event) { s.handle(ctx, e, listed) })
		if ctx.Err() != nil {
			break
		}
		klog.FromContext(ctx).Info("Waiting for the fleet's workloads", "cause", err.Error())
		s.pause(ctx, retry)
	}
	return nil
}

// handle handles an event of a stream. listed are the pods that the stream has named so far.
func (s *server) handle(ctx context.Context, e event, listed map[podID]bool) {
	id := podID{e.Cluster, e.PodUID}
	switch e.Type {
	case started:
		listed[id] = true
		s.start(ctx, id, e)
	case stopped:
		s.stop(id)
	case synced:
		// pods that ended between two streams
		for id := range s.running {
			if !listed[id] {
				s.stop(id)
			}
		}
		klog.FromContext(ctx).Info("Connected to the fleet", "running", len(s.running))
	}
}

func (s *server) stop(id podID) {
	if end, ok := s.running[id]; ok {
		end()
		delete(s.running, id)
	}
}

// start starts the function of a pod that has one and does not run yet.
func (s *server) start(ctx context.Context, id podID, e event) {
	if _, ok := s.running[id]; ok {
		return
	}
	program := s.program(e)
	if program == nil {
		return
	}
	logger := klog.FromContext(ctx).WithValues("cluster", e.Cluster, "pod", klog.KRef(e.Namespace, e.Pod))
	cluster, err := s.cluster(e)
	if err != nil {
		logger.Error(err, "Cannot start the agent")
		return
	}
	ctx, end := context.WithCancel(klog.NewContext(ctx, logger))
	s.running[id] = end
	s.ended.Go(func() { s.keep(ctx, program, cluster, e.Kind == job) })
}

// program returns the function of the pod, nil if there is none.
func (s *server) program(e event) Func {
	for _, a := range s.agents {
		switch {
		case !images.Matches(a.Image, e.Container.Image):
		case e.Kind == deployment:
			return a.Agent
		case e.Kind == job && a.Job == nil:
			return func(context.Context, Cluster) error { return nil }
		case e.Kind == job:
			return a.Job
		}
	}
	return nil
}

// cluster returns what the function of a pod gets, and writes the cluster's kubeconfig.
func (s *server) cluster(e event) (Cluster, error) {
	managed := s.managed
	managed.Host += "/clusters/" + e.Cluster
	kubeconfig := filepath.Join(s.dir, e.Cluster+".kubeconfig")
	content, err := clientcmd.Write(*pki.Kubeconfig(e.Cluster, managed.Host, s.ca, pki.User{Token: managed.BearerToken}))
	if err != nil {
		return Cluster{}, fmt.Errorf("encode the kubeconfig of %s: %w", e.Cluster, err)
	}
	if err := Replace(kubeconfig, content); err != nil {
		return Cluster{}, err
	}
	return Cluster{
		Name: e.Cluster, Namespace: e.Namespace, Managed: &managed, Kubeconfig: kubeconfig, Container: e.Container,
		Pod: types.NamespacedName{Namespace: e.Namespace, Name: e.Pod}, PodUID: e.PodUID,
	}, nil
}

// keep calls the program again whenever it ends, until ctx ends. A Job's program it calls once: if that
// fails, the Job gets another pod.
func (s *server) keep(ctx context.Context, program Func, cluster Cluster, isJob bool) {
	restarts := 0
	for {
		begin := s.clock.Now()
		err := program(ctx, cluster)
		if ctx.Err() != nil {
			return
		}
		if isJob {
			s.report(ctx, cluster, err)
			return
		}
		if kubeletBackOff.ResetBy(s.clock.Since(begin)) {
			restarts = 0
		}
		pause := kubeletBackOff.Delay(restarts)
		restarts++
		klog.FromContext(ctx).Info("Restarting ended agent", "cause", cause(err), "pause", pause)
		s.pause(ctx, pause)
		if ctx.Err() != nil {
			return
		}
	}
}

func cause(err error) string {
	if err == nil {
		return "it returned without an error"
	}
	return err.Error()
}

// report reports the end of a Job's function until that succeeds or ctx ends.
func (s *server) report(ctx context.Context, cluster Cluster, err error) {
	var r result
	if err != nil {
		klog.FromContext(ctx).Error(err, "Job failed")
		r.Error = err.Error()
	}
	for {
		err := s.api.done(ctx, cluster.Name, cluster.PodUID, r)
		if err == nil || ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).Error(err, "Cannot report the result of a Job")
		s.pause(ctx, retry)
	}
}

// pause waits for the time or until ctx ends.
func (s *server) pause(ctx context.Context, wait time.Duration) {
	if wait <= 0 {
		return
	}
	timer := s.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// shared holds everything that the workers of a node share.
type shared struct {
	Options
	client      kubernetes.Interface
	store       *store
	recorder    record.EventRecorder
	logs        logStore
	allocatable corev1.ResourceList
}

// worker runs one pod. One goroutine owns its state; other goroutines send it
// functions through inbox.
type worker struct {
	*shared
	inbox  chan func()
	wake   chan struct{}
	done   chan struct{}
	writer *statusWriter
	events *podEvents

	mu sync.Mutex
	// pod is the latest version; leaving is true once the pod is to be removed.
	pod     *corev1.Pod
	leaving bool
	// live are the containers that ran at the end of the last sync.
	live []*containerRun

	// The fields below belong to the goroutine. refs are the objects that it watches.
	refs    map[plan.Reference]bool
	refused []string
	states  map[string]plan.ContainerState
	runs    map[string]*containerRun
	network PodNetwork
	volumes *volumes
	tokens  *tokens
	// prepared is true once network and volumes are set up, stale while the volumes
	// need another sync. tokenDue is the time of the next token renewal.
	prepared, stale bool
	tokenDue        time.Time
	started         time.Time
	finished        bool
	end             *ending
}

// ending holds the cause of a pod's end and the steps that remain.
type ending struct {
	// Reason and Message are those of the status, empty for a deleted pod.
	Reason, Message string
	// Remove is set when the Pod object is to be deleted after the processes ended.
	Remove bool
	// Abandon is set when the node itself ends: the worker reports nothing more.
	Abandon bool
}

func newWorker(s *shared, pod *corev1.Pod) *worker {
	now := s.Clock.Now()
	w := &worker{
		shared: s, pod: pod,
		inbox: make(chan func(), inboxSize), wake: make(chan struct{}, 1), done: make(chan struct{}),
		events:  newPodEvents(s.recorder),
		refs:    map[plan.Reference]bool{},
		refused: plan.Unsupported(pod, s.HostPaths),
		states:  plan.InitialStates(pod, now),
		runs:    map[string]*containerRun{},
		tokens:  &tokens{client: s.client, have: map[plan.TokenRequest]plan.Token{}},
		stale:   true, started: now,
	}
	if pod.Status.StartTime != nil {
		w.started = pod.Status.StartTime.Time
	}
	w.volumes = newVolumes(filepath.Join(w.dir(), "volumes"))
	w.writer = newStatusWriter(s.client, s.Clock, pod, w.view())
	return w
}

// dir returns the directory with the pod's files, except its logs.
func (w *worker) dir() string { return filepath.Join(w.StateDir, string(w.currentPod().UID)) }

func (w *worker) currentPod() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod
}

// run runs the pod until it is removed or ctx ends.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	defer func() { w.store.release(w.currentPod().Namespace, w.refs) }()
	writing, stopWriting := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { w.writer.run(writing) })

	w.loop(ctx)

	stopWriting()
	writer.Wait()
	if w.end.Remove && ctx.Err() == nil {
		w.writer.flush(ctx)
		w.remove(ctx)
	}
}

// loop syncs the pod until all processes have ended and the worker may end.
func (w *worker) loop(ctx context.Context) {
	ended := ctx.Done()
	for {
		again := w.sync(ctx)
		if w.finished && w.end != nil && (w.end.Remove || w.end.Abandon) {
			return
		}
		timer := w.Clock.NewTimer(w.until(again))
		select {
		case <-ended:
			ended = nil
			w.stop(w.ShutdownGrace, ending{Abandon: true})
		case f := <-w.inbox:
			f()
		case <-w.wake:
			w.stale = true
		case <-timer.C():
		}
		timer.Stop()
	}
}

// inboxSize is the number of functions that senders can leave while the worker
// waits for the API server or for a container to start.
const inboxSize = 32

// idle is the sleep of a worker without a due step.
const idle = time.Hour

func (w *worker) until(at time.Time) time.Duration {
	if at.IsZero() {
		return idle
	}
	return max(at.Sub(w.Clock.Now()), 0)
}

// do passes f to the worker's goroutine, unless that has ended.
func (w *worker) do(f func()) {
	select {
	case w.inbox <- f:
	case <-w.done:
	}
}

// nudge wakes the worker because an object that the pod refers to has changed.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// update replaces the pod by a new version of it.
func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod
	w.mu.Unlock()
	w.do(func() {
		w.stale = true
		for _, c := range plan.Containers(&pod.Spec) {
			if r := w.runs[c.Name]; r != nil && r.spec.Image != c.Image {
				w.events.normal(pod, c.Name, "Killing", "Container %s definition changed, will be restarted", c.Name)
				w.stopRun(r, grace(pod))
			}
		}
	})
}

// terminate starts to end the pod's processes; the pod is removed after them.
func (w *worker) terminate(within time.Duration) {
	w.mu.Lock()
	w.leaving = true
	w.mu.Unlock()
	w.do(func() { w.stop(within, ending{Remove: true}) })
}

// isLeaving reports whether the pod is to be removed.
func (w *worker) isLeaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaving
}

// grace returns the pod's termination grace period.
func grace(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}

// podNetwork returns the pod's network, or errNoNetwork before it is set up and
// after it is closed.
func (w *worker) podNetwork(ctx context.Context) (PodNetwork, error) {
	answer := make(chan PodNetwork, 1)
	w.do(func() {
		if !w.finished {
			answer <- w.network
		}
		close(answer)
	})
	select {
	case network := <-answer:
		if network != nil {
			return network, nil
		}
	case <-w.done:
	case <-ctx.Done():
	}
	return nil, errNoNetwork
}

// runOf returns the current run of a container, nil if it does not run.
func (w *worker) runOf(ctx context.Context, name string) *containerRun {
	answer := make(chan *containerRun, 1)
	w.do(func() { answer <- w.runs[name] })
	select {
	case run := <-answer:
		return run
	case <-w.done:
	case <-ctx.Done():
	}
	return nil
}

// errNoNetwork is the error for a pod that does not run.
var errNoNetwork = errors.New("the pod is not running: it has no network")

// view returns the input of the pod's status.
func (w *worker) view() plan.View {
	v := plan.View{
		Pod: w.currentPod(), States: maps.Clone(w.states), At: w.at(),
		Finished: w.finished, StartTime: w.started, Now: w.Clock.Now(),
	}
	if w.end != nil {
		v.Reason, v.Message = w.end.Reason, w.end.Message
	}
	return v
}

func (w *worker) at() plan.Addresses {
	at := plan.Addresses{Host: w.Address.String()}
	if w.network != nil {
		at.Pod = w.network.IP().String()
	}
	return at
}

// remove deletes the Pod object and the pod's files.
func (w *worker) remove(ctx context.Context) {
	logger, pod := klog.FromContext(ctx), w.currentPod()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := deletePod(ctx, w.client, pod); err != nil && !errors.Is(err, context.Canceled) {
		logger.Error(err, "Cannot remove an ended pod") // virtual-kubelet does it after the grace period
	}
	if err := errors.Join(os.RemoveAll(w.dir()), os.RemoveAll(w.logs.of(pod))); err != nil {
		logger.Error(err, "Cannot remove the files of a removed pod", "pod", klog.KObj(pod))
	}
}

// deletePod deletes the Pod object with grace period 0, if it is still the same pod.
func deletePod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

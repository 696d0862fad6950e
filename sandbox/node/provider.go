package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// provider is called by virtual-kubelet's pod controller. It has one worker for
// each pod.
type provider struct {
	*shared
	lister corev1listers.PodLister
	// ctx ends the workers.
	ctx context.Context

	mu      sync.Mutex
	workers map[types.UID]*worker
	running sync.WaitGroup
}

func newProvider(ctx context.Context, s *shared, lister corev1listers.PodLister) *provider {
	return &provider{shared: s, lister: lister, ctx: ctx, workers: map[types.UID]*worker{}}
}

// wait waits until every worker has ended.
func (p *provider) wait() { p.running.Wait() }

// CreatePod starts a worker for a pod. It never fails: the worker reports problems
// in the pod's status and events, and retries.
func (p *provider) CreatePod(_ context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.workers[pod.UID]; known || p.ctx.Err() != nil {
		return nil
	}
	w := newWorker(p.shared, pod)
	p.workers[pod.UID] = w
	p.running.Go(func() {
		w.run(p.ctx)
		p.mu.Lock()
		delete(p.workers, pod.UID)
		p.mu.Unlock()
	})
	return nil
}

// UpdatePod passes a new version of a pod to its worker.
func (p *provider) UpdatePod(_ context.Context, pod *corev1.Pod) error {
	if w := p.byUID(pod.UID); w != nil {
		w.update(pod)
	}
	return nil
}

// DeletePod starts to end a pod's processes and returns. The worker removes the
// pod when they have ended.
func (p *provider) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	w := p.byUID(pod.UID)
	if w == nil {
		if pod.DeletionTimestamp == nil {
			return errdefs.NotFoundf("pod %s/%s does not run on this node", pod.Namespace, pod.Name)
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return deletePod(ctx, p.client, pod)
	}
	within := grace(pod)
	if pod.DeletionGracePeriodSeconds != nil {
		within = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	w.terminate(within)
	return nil
}

// GetPod returns the running pod of a name. It does not find a pod that is being
// removed: virtual-kubelet would take it for a new pod of the same name and not
// start that one. For the same reason GetPod ends a pod that has been replaced by
// a pod of the same name.
func (p *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	w := p.byName(namespace, name)
	if w == nil {
		return nil, errdefs.NotFoundf("pod %s/%s does not run on this node", namespace, name)
	}
	pod := w.currentPod()
	if current, err := p.lister.Pods(namespace).Get(name); err == nil && current.UID != pod.UID {
		w.terminate(grace(pod))
		return nil, errdefs.NotFoundf("pod %s/%s was replaced", namespace, name)
	}
	return pod.DeepCopy(), nil
}

// GetPodStatus returns the status that a pod should have.
func (p *provider) GetPodStatus(_ context.Context, namespace, name string) (*corev1.PodStatus, error) {
	w := p.byName(namespace, name)
	if w == nil {
		return nil, errdefs.NotFoundf("pod %s/%s does not run on this node", namespace, name)
	}
	status := w.writer.status()
	return &status, nil
}

// GetPods returns all pods that are not being removed.
func (p *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pods []*corev1.Pod
	for _, w := range p.workers {
		if !w.isLeaving() {
			pods = append(pods, w.currentPod().DeepCopy())
		}
	}
	return pods, nil
}

// NotifyPods keeps virtual-kubelet from polling for statuses. It never calls the
// function: each worker writes its pod's status itself (see statusWriter).
func (p *provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

func (p *provider) byUID(uid types.UID) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers[uid]
}

// byName returns the worker of the pod of this name that is not being removed, nil
// if there is none.
func (p *provider) byName(namespace, name string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		pod := w.currentPod()
		if pod.Namespace == namespace && pod.Name == name && !w.isLeaving() {
			return w
		}
	}
	return nil
}

// changed wakes the workers of all pods that refer to the object.
func (p *provider) changed(key objectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		if pod := w.currentPod(); pod.Namespace == key.Namespace && plan.References(&pod.Spec)[key.Reference] {
			w.nudge()
		}
	}
}

// observed passes the API server's version of a pod to the pod's status writer.
func (p *provider) observed(pod *corev1.Pod) {
	if w := p.byUID(pod.UID); w != nil {
		w.writer.observe(pod)
	}
}

// podOf returns a pod of this node by name.
func (p *provider) podOf(namespace, name string) (*corev1.Pod, error) {
	pod, err := p.lister.Pods(namespace).Get(name)
	if err != nil {
		return nil, errdefs.AsNotFound(fmt.Errorf("find pod %s/%s on this node: %w", namespace, name, err))
	}
	return pod, nil
}

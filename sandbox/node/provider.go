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
)

// provider is what virtual-kubelet's pod controller drives: it keeps one worker
// for each pod.
type provider struct {
	*shared
	lister corev1listers.PodLister
	// ctx is the workers' life.
	ctx context.Context

	mu      sync.Mutex
	workers map[types.UID]*worker
	running sync.WaitGroup
}

func newProvider(ctx context.Context, s *shared, lister corev1listers.PodLister) *provider {
	return &provider{shared: s, lister: lister, ctx: ctx, workers: map[types.UID]*worker{}}
}

// wait returns when every worker has ended.
func (p *provider) wait() { p.running.Wait() }

// CreatePod starts a worker for a pod. It never fails: what keeps a pod from
// running is told in its status and events, and tried again by the worker.
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

// UpdatePod hands a new version of a pod to its worker.
func (p *provider) UpdatePod(_ context.Context, pod *corev1.Pod) error {
	if w := p.byUID(pod.UID); w != nil {
		w.update(pod)
	}
	return nil
}

// DeletePod ends a pod's processes and removes the pod when they have ended. It
// does not wait for that.
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

// GetPod is the pod that runs under a name. One that is being removed is not
// found: virtual-kubelet would take it for a new pod of the same name, and not
// start that. For the same reason a pod is ended here whose name is another's by
// now.
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

// GetPodStatus is the status that a pod should have.
func (p *provider) GetPodStatus(_ context.Context, namespace, name string) (*corev1.PodStatus, error) {
	w := p.byName(namespace, name)
	if w == nil {
		return nil, errdefs.NotFoundf("pod %s/%s does not run on this node", namespace, name)
	}
	status := w.writer.status()
	return &status, nil
}

// GetPods are all pods that are not being removed.
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

// NotifyPods tells virtual-kubelet that it need not poll for statuses. It is not
// told any: each worker writes its pod's status itself (see statusWriter).
func (p *provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

func (p *provider) byUID(uid types.UID) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers[uid]
}

// byName is the worker of the pod that has the name and is not being removed.
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

// changed tells the pods that refer to an object that it has changed.
func (p *provider) changed(key objectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		if w.refs[key.Reference] && w.currentPod().Namespace == key.Namespace {
			w.nudge()
		}
	}
}

// observed hands the status that the API server has to the pod's worker.
func (p *provider) observed(pod *corev1.Pod) {
	if w := p.byUID(pod.UID); w != nil {
		w.writer.observe(pod)
	}
}

// podOf finds a pod by name for the node's HTTP server.
func (p *provider) podOf(namespace, name string) (*corev1.Pod, error) {
	pod, err := p.lister.Pods(namespace).Get(name)
	if err != nil {
		return nil, errdefs.AsNotFound(fmt.Errorf("find pod %s/%s on this node: %w", namespace, name, err))
	}
	return pod, nil
}

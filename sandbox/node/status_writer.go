package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// The delays before a failed write of a status is retried.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second
)

// statusWriter writes the latest status of one pod. As kubelet does, it patches the
// changed fields, with the pod's UID as precondition. virtual-kubelet's own writer
// updates the whole object, which reverts labels and finalizers that others have
// changed meanwhile.
type statusWriter struct {
	client kubernetes.Interface
	clock  clock.WithTicker
	pod    types.NamespacedName
	uid    types.UID

	mu sync.Mutex
	// base and version are the API server's status and its resource version.
	base    corev1.PodStatus
	version string
	// view is the input of the status.
	view plan.View
	// useless is a patch that changed nothing: without it, a field that the API
	// server drops would be written for ever.
	useless []byte
	// gone is true once the pod has been deleted.
	gone bool
	wake chan struct{}
}

func newStatusWriter(client kubernetes.Interface, c clock.WithTicker, pod *corev1.Pod, v plan.View) *statusWriter {
	return &statusWriter{
		client: client, clock: c, uid: pod.UID,
		pod:  types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
		base: *pod.Status.DeepCopy(), version: pod.ResourceVersion, view: v,
		wake: make(chan struct{}, 1),
	}
}

// set replaces the input of the status. It does not wait for the write.
func (w *statusWriter) set(v plan.View) {
	w.mu.Lock()
	w.view = v
	w.mu.Unlock()
	w.nudge()
}

// observe takes over the API server's status unless it is older than the last write.
// The next write reverts changes that others have made to the node's fields.
func (w *statusWriter) observe(pod *corev1.Pod) {
	w.mu.Lock()
	newer, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, w.version)
	fresh := err == nil && newer > 0 && pod.UID == w.uid
	if fresh {
		w.base, w.version = *pod.Status.DeepCopy(), pod.ResourceVersion
	}
	w.mu.Unlock()
	if fresh {
		w.nudge()
	}
}

func (w *statusWriter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// status returns the status that the pod should have.
func (w *statusWriter) status() corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return plan.Status(w.base, w.view)
}

// run writes every change of the status until ctx ends.
func (w *statusWriter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		w.flush(ctx)
	}
}

// flush writes the status. It returns when it is written, the pod is gone, or ctx
// ends.
func (w *statusWriter) flush(ctx context.Context) {
	wait := retryMin
	for ctx.Err() == nil {
		if w.write(ctx) == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-w.clock.After(wait):
		}
		wait = min(2*wait, retryMax)
	}
}

// write makes one attempt. An unchanged status is a success.
func (w *statusWriter) write(ctx context.Context) error {
	w.mu.Lock()
	base, version, wanted, gone, useless := w.base, w.version, plan.Status(w.base, w.view), w.gone, w.useless
	w.mu.Unlock()
	if gone || apiequality.Semantic.DeepEqual(base, wanted) {
		return nil
	}
	patch, err := statusPatch(w.uid, base, wanted)
	if err != nil {
		return err
	}
	if bytes.Equal(patch, useless) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	got, err := w.client.CoreV1().Pods(w.pod.Namespace).Patch(ctx, w.pod.Name,
		types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	gone = apierrors.IsNotFound(err) || apierrors.IsConflict(err) && w.replaced(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case gone:
		w.gone = true
		return nil
	case err != nil:
		return fmt.Errorf("write the status of pod %s: %w", w.pod, err)
	case got.ResourceVersion == version:
		w.useless = patch
	}
	w.base, w.version = got.Status, got.ResourceVersion
	return nil
}

// replaced reports whether the pod is gone or another pod has its name.
func (w *statusWriter) replaced(ctx context.Context) bool {
	pod, err := w.client.CoreV1().Pods(w.pod.Namespace).Get(ctx, w.pod.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && pod.UID != w.uid
}

// statusPatch returns the strategic merge patch from one status to another, for the
// pod with this UID alone.
func statusPatch(uid types.UID, base, wanted corev1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: base})
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: wanted})
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("compute the change of the status: %w", err)
	}
	return patch, nil
}

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

// How long a failed write of a status waits before it is tried again.
const (
	retryMin = 100 * time.Millisecond
	retryMax = 5 * time.Second
)

// statusWriter writes one pod's status, the latest one only. It patches what has
// changed, with the pod's UID as a precondition, as kubelet does:
// virtual-kubelet's own writer puts the whole object, and so takes back labels
// and finalizers that others have changed meanwhile.
type statusWriter struct {
	client kubernetes.Interface
	clock  clock.WithTicker
	pod    types.NamespacedName
	uid    types.UID

	mu sync.Mutex
	// base and version are of the status that the API server has.
	base    corev1.PodStatus
	version string
	// view is what the status is made from.
	view plan.View
	// useless is a patch that changed nothing: a field that this API server does
	// not keep must not be written again and again.
	useless []byte
	// gone says that the pod does not exist any more.
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

// set says what the status is made from now. It does not wait.
func (w *statusWriter) set(v plan.View) {
	w.mu.Lock()
	w.view = v
	w.mu.Unlock()
	w.nudge()
}

// observe takes over the status that the API server has, unless it is older than
// the last write: what others changed of the node's part is then put right.
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

// status is what the pod's status should be.
func (w *statusWriter) status() corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return plan.Status(w.base, w.view)
}

// run writes until ctx ends.
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

// flush returns when the status has been written, the pod is gone, or ctx ends.
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

// write makes one attempt; nothing to write is a success.
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

// replaced says that the pod is gone, or that another one has its name.
func (w *statusWriter) replaced(ctx context.Context) bool {
	pod, err := w.client.CoreV1().Pods(w.pod.Namespace).Get(ctx, w.pod.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && pod.UID != w.uid
}

// statusPatch is the change from one status to another, for this one pod.
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

package node

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// remove takes the pod away, from the API server and from disk.
func (w *worker) remove(ctx context.Context) {
	logger, pod := klog.FromContext(ctx), w.currentPod()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := deletePod(ctx, w.client, pod); err != nil && !errors.Is(err, context.Canceled) {
		logger.Error(err, "A pod that has ended was not removed") // virtual-kubelet does it after the grace period
	}
	if err := errors.Join(os.RemoveAll(w.dir()), os.RemoveAll(w.logs.of(pod))); err != nil {
		logger.Error(err, "Files of a removed pod are left", "pod", klog.KObj(pod))
	}
}

// deletePod removes the pod object at once, if it is still the same pod.
func deletePod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

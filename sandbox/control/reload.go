package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/podstate"
)

// Reload deletes the pods of all clusters that use an image, and waits until as many new ones are ready and stay so for
// reloadSettle. Without a tag, the name means all tags and digests. It returns the number of deleted pods. Pods that no
// controller would create again stay; the error names them, those that are not ready in time, and those whose containers
// end, with an excerpt of the log of one container of each name.
func (s *Sandbox) Reload(ctx context.Context, image string, timeout time.Duration) (int, error) {
	known, err := images.In(s.dir).Known()
	if err != nil {
		return 0, err
	}
	if err := checkImage(image, known); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var reloads []*reload
	var errs []error
	deleted := 0
	for _, cluster := range s.record.Clusters {
		r, err := s.beginReload(ctx, cluster, image)
		errs = append(errs, err)
		if r != nil {
			reloads = append(reloads, r)
			deleted += len(r.deleted)
		}
	}
	// at the same time: one that does not become ready must not take the others' time
	waits := make([]error, len(reloads))
	var waiting sync.WaitGroup
	for i, r := range reloads {
		waiting.Go(func() {
			if err := r.wait(ctx, reloadPeriod, reloadSettle); err != nil {
				waits[i] = fmt.Errorf("cluster %s: %w", r.cluster, err)
			}
		})
	}
	waiting.Wait()
	return deleted, errors.Join(append(errs, waits...)...)
}

const (
	// reloadPeriod is how often Reload looks for the new pods.
	reloadPeriod = 200 * time.Millisecond
	// reloadSettle is the time for which the new pods have to stay ready: one without a readiness probe is ready before its
	// program has done anything.
	reloadSettle = time.Second
)

// checkImage returns an error for an image that is not known.
func checkImage(image string, known []string) error {
	if images.Maps(known, image) {
		return nil
	}
	if similar := images.Similar(known, image); similar != "" {
		return fmt.Errorf("image %q is not known to the sandbox: did you mean %s? ocm-sandbox image ls lists all", image, similar)
	}
	return fmt.Errorf("image %q is not known to the sandbox, which has %s: add it with ocm-sandbox image go %s PACKAGE, or as ocm-sandbox image --help tells",
		image, cmp.Or(strings.Join(known, ", "), "no images"), image)
}

func (s *Sandbox) beginReload(ctx context.Context, cluster, image string) (*reload, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, cluster+".kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster, err)
	}
	r := &reload{cluster: cluster, client: client, image: image}
	if err := r.begin(ctx); err != nil {
		return r, fmt.Errorf("cluster %s: %w", cluster, err)
	}
	return r, nil
}

// reload is a reload on one cluster.
type reload struct {
	cluster, image string
	client         kubernetes.Interface
	// deleted are the pods that were deleted.
	deleted []corev1.Pod
	// old are all pods that were there before.
	old map[types.UID]bool
}

// begin deletes the pods that use the image.
func (r *reload) begin(ctx context.Context) error {
	list, err := r.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	var errs []error
	r.old = map[types.UID]bool{}
	for _, pod := range list.Items {
		r.old[pod.UID] = true
		if !usesImage(pod, r.image) {
			continue
		}
		if metav1.GetControllerOf(&pod) == nil {
			errs = append(errs, fmt.Errorf("pod %s/%s was not restarted, because no controller would create it again: delete and create it", pod.Namespace, pod.Name))
			continue
		}
		err := r.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is a new one already
		case err != nil:
			errs = append(errs, fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err))
		default:
			r.deleted = append(r.deleted, pod)
		}
	}
	return errors.Join(errs...)
}

// wait looks for the new pods every period until they are ready, and once more after the time settle.
func (r *reload) wait(ctx context.Context, period, settle time.Duration) error {
	if len(r.deleted) == 0 {
		return nil
	}
	missing := []string{"not asked for yet"}
	var ready []corev1.Pod // the new pods when the last look found all of them ready
	for {
		delay := period
		list, err := r.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		switch {
		case err == nil:
			pods := newPods(r.deleted, r.old, list.Items)
			if ended := endings(ready, pods); len(ended) > 0 {
				return r.explain(ctx, ended)
			}
			missing = notReady(r.deleted, pods)
			if len(missing) == 0 && ready != nil {
				return nil
			}
			ready = nil
			if len(missing) == 0 {
				ready, missing, delay = pods, []string{"ready for less than " + settle.String()}, settle
			}
		case ctx.Err() == nil:
			missing = []string{fmt.Sprintf("list the pods: %v", err)}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready again (%w): %s", ctx.Err(), strings.Join(missing, "; "))
		case <-time.After(delay):
		}
	}
}

// usesImage reports whether a pod that has not ended uses an image of the name.
func usesImage(pod corev1.Pod, name string) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return images.Matches(name, c.Image)
	})
}

// newPods returns the pods that the controllers of the deleted ones have created since, except for those that are being deleted.
func newPods(deleted []corev1.Pod, old map[types.UID]bool, pods []corev1.Pod) []corev1.Pod {
	controllers := map[types.UID]bool{}
	for _, pod := range deleted {
		controllers[metav1.GetControllerOf(&pod).UID] = true
	}
	var created []corev1.Pod
	for _, pod := range pods {
		owner := metav1.GetControllerOf(&pod)
		if owner != nil && controllers[owner.UID] && !old[pod.UID] && pod.DeletionTimestamp == nil {
			created = append(created, pod)
		}
	}
	return created
}

// notReady returns what is missing until each controller has as many new ready or succeeded pods
// as were deleted: the new pods that are not ready, and the controllers that have too few.
func notReady(deleted, created []corev1.Pod) []string {
	want, controllers := map[types.UID]int{}, map[types.UID]string{}
	for _, pod := range deleted {
		owner := metav1.GetControllerOf(&pod)
		want[owner.UID]++
		controllers[owner.UID] = fmt.Sprintf("%s %s/%s", owner.Kind, pod.Namespace, owner.Name)
	}
	waiting := map[types.UID][]string{}
	for _, pod := range created {
		owner := metav1.GetControllerOf(&pod)
		if podstate.Ready(&pod) {
			want[owner.UID]--
		} else {
			waiting[owner.UID] = append(waiting[owner.UID], fmt.Sprintf("pod %s/%s%s", pod.Namespace, pod.Name, reasonOf(pod)))
		}
	}
	var missing []string
	for uid, name := range controllers {
		switch {
		case want[uid] <= 0:
		case len(waiting[uid]) > 0:
			missing = append(missing, waiting[uid]...)
		default:
			missing = append(missing, fmt.Sprintf("%s has not created %d of its pods again", name, want[uid]))
		}
	}
	slices.Sort(missing)
	return missing
}

// reasonOf returns why the pod's containers wait, in parentheses, empty if none does.
func reasonOf(pod corev1.Pod) string {
	for _, c := range podstate.Statuses(&pod) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return fmt.Sprintf(" (container %s: %s)", c.Name, w.Reason)
		}
	}
	return ""
}

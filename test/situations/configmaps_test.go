//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// kubernetesOwn is what Kubernetes puts into every namespace.
const kubernetesOwn = "kube-root-ca.crt"

// put creates a ConfigMap in the cluster's namespace on the hub, or changes it.
func (c *cluster) put(t *testing.T, name, value string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
	client := c.hub.CoreV1().ConfigMaps(c.name)
	eventually(t, "write ConfigMap "+name, func(ctx context.Context) error {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			_, err = client.Update(ctx, object, metav1.UpdateOptions{})
		}
		return err
	})
}

// drop deletes a ConfigMap in the cluster's namespace on the hub.
func (c *cluster) drop(t *testing.T, name string) {
	t.Helper()
	must(t, "delete ConfigMap "+name, c.hub.CoreV1().ConfigMaps(c.name).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// inSync checks that every ConfigMap of the cluster's namespace on the hub is on
// the cluster, as it is, and nothing else of the add-on's.
func (c *cluster) inSync(ctx context.Context) error {
	want, err := dataOf(ctx, c.hub, c.name, "")
	if err != nil {
		return err
	}
	return c.hasCopies(ctx, want)
}

// hasCopies checks that the copies are these and no others.
func (c *cluster) hasCopies(ctx context.Context, want map[string]map[string]string) error {
	got, err := dataOf(ctx, c.managed, c.install, managedByLabel+"="+agentDeployment)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the copies (-on the hub +on %s):\n%s", c.name, diff)
	}
	return nil
}

// copies are the copies that there are now.
func (c *cluster) copies(t *testing.T) map[string]map[string]string {
	t.Helper()
	found, err := dataOf(t.Context(), c.managed, c.install, managedByLabel+"="+agentDeployment)
	must(t, "list the copies", err)
	return found
}

func dataOf(ctx context.Context, from api, namespace, selector string) (map[string]map[string]string, error) {
	list, err := from.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	data := map[string]map[string]string{}
	for i := range list.Items {
		if list.Items[i].Name != kubernetesOwn {
			data[list.Items[i].Name] = list.Items[i].Data
		}
	}
	return data, nil
}

// watchDeletions notes which copies are deleted from now on, also when they are
// written again at once. What it returns ends the watch and gives the names.
func (c *cluster) watchDeletions(t *testing.T) func() []string {
	t.Helper()
	list, err := c.managed.CoreV1().ConfigMaps(c.install).List(t.Context(), metav1.ListOptions{})
	must(t, "list the copies", err)
	seconds := int64(3600)
	watcher, err := c.managed.CoreV1().ConfigMaps(c.install).Watch(t.Context(), metav1.ListOptions{
		LabelSelector: managedByLabel + "=" + agentDeployment, ResourceVersion: list.ResourceVersion, TimeoutSeconds: &seconds})
	must(t, "watch the copies", err)

	var mu sync.Mutex
	var names []string
	var broken error
	stopped := false
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			mu.Lock()
			cm, ok := event.Object.(*corev1.ConfigMap)
			switch {
			case stopped: // stopping a watch may make an error of its own
			case !ok:
				broken = fmt.Errorf("the watch broke: %v", event.Object)
			case event.Type == watch.Deleted:
				names = append(names, cm.Name)
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		if !stopped && broken == nil {
			broken = errors.New("the watch ended early")
		}
	}()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			mu.Lock()
			stopped = true
			mu.Unlock()
			watcher.Stop()
			<-ended
		})
	}
	t.Cleanup(stop)
	return func() []string {
		stop()
		must(t, "watch the copies", broken)
		slices.Sort(names)
		return names
	}
}

// requireDeleted fails the test when other copies were deleted than these.
func requireDeleted(t *testing.T, deleted func() []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, deleted()); diff != "" {
		t.Errorf("copies that were deleted (-that had to be +that were):\n%s", diff)
	}
}

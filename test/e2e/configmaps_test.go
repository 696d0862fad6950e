//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// configMap is one of the suite, without a namespace.
func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{suiteLabel: "true"}},
		Data:       data,
	}
}

// createSource creates the ConfigMap in the cluster's namespace on the hub.
// At the end of the test it is deleted, and its copy is waited out.
func (e *environment) createSource(t *testing.T, c *cluster, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	sources := e.hub.kube.CoreV1().ConfigMaps(c.name)
	created, err := sources.Create(t.Context(), cm, metav1.CreateOptions{})
	must(t, "create ConfigMap on the hub", err)
	cleanup(t, "ConfigMap "+cm.Name, func(ctx context.Context) error {
		if err := ignoreNotFound(sources.Delete(ctx, cm.Name, metav1.DeleteOptions{})); err != nil {
			return err
		}
		if t.Failed() {
			return nil
		}
		return poll(ctx, deadline, c.hasNoCopy(cm.Name))
	})
	return created
}

// updateSource changes the ConfigMap on the hub.
func (e *environment) updateSource(t *testing.T, c *cluster, name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	t.Helper()
	updated, err := update(t.Context(), e.hub.apiServer, c.name, name, change)
	must(t, "update ConfigMap on the hub", err)
	return updated
}

func (e *environment) deleteSource(t *testing.T, c *cluster, name string) {
	t.Helper()
	must(t, "delete ConfigMap on the hub",
		e.hub.kube.CoreV1().ConfigMaps(c.name).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// update changes a ConfigMap, and retries on a conflict.
func update(ctx context.Context, api apiServer, namespace, name string, change func(*corev1.ConfigMap)) (*corev1.ConfigMap, error) {
	client := api.kube.CoreV1().ConfigMaps(namespace)
	for {
		cm, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		change(cm)
		updated, err := client.Update(ctx, cm, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return updated, err
		}
	}
}

// copyOf is the object of this name in the install namespace.
func (c *cluster) copyOf(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return c.kube.CoreV1().ConfigMaps(c.installNamespace).Get(ctx, name, metav1.GetOptions{})
}

// hasCopy checks that the source's content is there, and marked as ours.
func (c *cluster) hasCopy(source *corev1.ConfigMap) check {
	return func(ctx context.Context) error {
		found, err := c.copyOf(ctx, source.Name)
		if err != nil {
			return err
		}
		if diff := contentDiff(source, found); diff != "" {
			return fmt.Errorf("the copy differs (-hub +copy):\n%s", diff)
		}
		if got := found.Labels[managedByLabel]; got != managedByValue {
			return fmt.Errorf("the copy has %s=%q, want %q", managedByLabel, got, managedByValue)
		}
		return nil
	}
}

func (c *cluster) hasNoCopy(name string) check {
	return func(ctx context.Context) error {
		_, err := c.copyOf(ctx, name)
		return gone("copy "+name, err)
	}
}

// contentDiff compares what a copy has to have of its source.
func contentDiff(source, found *corev1.ConfigMap) string {
	type content struct {
		Data       map[string]string
		BinaryData map[string][]byte
		Immutable  bool
	}
	of := func(cm *corev1.ConfigMap) content {
		return content{cm.Data, cm.BinaryData, cm.Immutable != nil && *cm.Immutable}
	}
	return cmp.Diff(of(source), of(found), cmpopts.EquateEmpty())
}

// createForeign creates a ConfigMap in the install namespace without the agent's
// marks, as another owner would.
func (c *cluster) createForeign(t *testing.T, cm *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	client := c.kube.CoreV1().ConfigMaps(c.installNamespace)
	created, err := client.Create(t.Context(), cm, metav1.CreateOptions{})
	must(t, "create a foreign ConfigMap on the managed cluster", err)
	cleanup(t, "foreign ConfigMap "+cm.Name, func(ctx context.Context) error {
		// Only this very object: a copy of the same name may have followed it.
		return ignoreGone(client.Delete(ctx, cm.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &created.UID},
		}))
	})
	return created
}

// untouched checks that the object was not written since.
func (c *cluster) untouched(before *corev1.ConfigMap) check {
	return func(ctx context.Context) error {
		now, err := c.copyOf(ctx, before.Name)
		if err != nil {
			return err
		}
		if now.UID != before.UID || now.ResourceVersion != before.ResourceVersion {
			return fmt.Errorf("%s was written (-before +now):\n%s", before.Name, cmp.Diff(before, now))
		}
		return nil
	}
}

// annotateCopy annotates an object in the install namespace.
func (c *cluster) annotateCopy(t *testing.T, name, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).
		Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, "annotate "+name, err)
}

var markers atomic.Int64

// settle returns when the agent has handled everything that was written on
// the hub before: a marker written now has been copied, and removed again.
func (e *environment) settle(t *testing.T, c *cluster) {
	t.Helper()
	marker := configMap(fmt.Sprintf("e2e-marker-%d", markers.Add(1)), map[string]string{"marker": t.Name()})
	marker = e.createSource(t, c, marker)
	eventually(t, "the marker's copy", c.hasCopy(marker))
	e.deleteSource(t, c, marker.Name)
	eventually(t, "the marker's copy gone", c.hasNoCopy(marker.Name))
}

// with is data with one more pair.
func with(data map[string]string, key, value string) map[string]string {
	more := maps.Clone(data)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ignoreGone ignores that an object is gone, or is another one by now.
func ignoreGone(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return ignoreNotFound(err)
}

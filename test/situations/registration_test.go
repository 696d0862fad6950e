//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// stopRegistration ends the cluster's registration agent, startRegistration starts
// it as a new pod.
func (c *cluster) stopRegistration(t *testing.T) {
	t.Helper()
	_, err := c.shell(t.Context(), stopEnv, "")
	must(t, "stop the registration agent", err)
	t.Cleanup(func() { _, _ = c.shell(context.WithoutCancel(t.Context()), startEnv, "") })
}

func (c *cluster) startRegistration(t *testing.T) {
	t.Helper()
	_, err := c.shell(t.Context(), startEnv, "")
	must(t, "start the registration agent", err)
}

// startLater starts the registration agent and does not wait until it runs, which
// awaitStart does. The first command may fail: it does not wait for ever.
func (c *cluster) startLater(t *testing.T) (awaitStart func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var starting sync.WaitGroup
	starting.Go(func() { _, _ = c.shell(ctx, startEnv, "") })
	t.Cleanup(starting.Wait)
	return func() {
		t.Helper()
		starting.Wait()
		c.startRegistration(t)
	}
}

// detach removes the cluster from the hub, as if it had never joined: no
// ManagedCluster, and no credentials of the hub on the cluster. The registration
// agent has to be stopped, and the add-on disabled.
func (c *cluster) detach(t *testing.T) {
	t.Helper()
	c.deleteManagedCluster(t)
	c.deleteHubKubeconfig(t)
}

func (c *cluster) deleteHubKubeconfig(t *testing.T) {
	t.Helper()
	err := c.home.CoreV1().Secrets(c.klusterlet).Delete(t.Context(), hubSecret, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, "delete the hub kubeconfig", err)
	}
}

func (c *cluster) deleteManagedCluster(t *testing.T) {
	t.Helper()
	client := c.hub.dynamic.Resource(clusterResource)
	err := client.Delete(t.Context(), c.name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, "delete the ManagedCluster", err)
	}
	eventually(t, "the ManagedCluster gone", func(ctx context.Context) error {
		_, err := client.Get(ctx, c.name, metav1.GetOptions{})
		return gone("ManagedCluster", err)
	})
}

// expect creates the ManagedCluster on the hub before the cluster joins, accepted,
// and waits until the hub has accepted it. Before that the hub may still delete the
// add-ons of a deleted ManagedCluster with this name.
func (c *cluster) expect(t *testing.T) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": clusterResource.GroupVersion().String(), "kind": "ManagedCluster",
		"metadata": map[string]any{"name": c.name}, "spec": map[string]any{"hubAcceptsClient": true},
	}}
	_, err := c.hub.dynamic.Resource(clusterResource).Create(t.Context(), object, metav1.CreateOptions{})
	must(t, "create the ManagedCluster", err)
	eventually(t, "the cluster is accepted", func(ctx context.Context) error {
		return c.condition(ctx, clusterResource, "", c.name, "HubAcceptedManagedCluster")
	})
	eventually(t, "the cluster's namespace on the hub", func(ctx context.Context) error {
		namespace, err := c.hub.CoreV1().Namespaces().Get(ctx, c.name, metav1.GetOptions{})
		if err == nil && namespace.DeletionTimestamp != nil {
			err = errors.New("it is being deleted")
		}
		return err
	})
}

// joined checks that the hub says that the cluster has joined and is available.
func (c *cluster) joined(ctx context.Context) error {
	var errs []error
	for _, condition := range []string{"HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"} {
		errs = append(errs, c.condition(ctx, clusterResource, "", c.name, condition))
	}
	return errors.Join(errs...)
}

// condition checks that an object of the hub has the condition.
func (c *cluster) condition(ctx context.Context, resource schema.GroupVersionResource, namespace, name, condition string) error {
	object, err := c.hub.dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, entry := range conditions {
		if fields, ok := entry.(map[string]any); ok && fields["type"] == condition {
			if fields["status"] == "True" {
				return nil
			}
			return fmt.Errorf("%s is %v/%v: %v", condition, fields["status"], fields["reason"], fields["message"])
		}
	}
	return fmt.Errorf("no condition %s yet", condition)
}

// accept sets whether the hub accepts the cluster.
func (c *cluster) accept(t *testing.T, hub api, accepted bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"hubAcceptsClient":%t}}`, accepted)
	_, err := hub.dynamic.Resource(clusterResource).Patch(t.Context(), c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, "set hubAcceptsClient", err)
}

// renewal returns a check that the cluster's agent has renewed its lease on the
// hub since now: it has a way to the hub, and the hub's credentials.
func (c *cluster) renewal(t *testing.T) check {
	t.Helper()
	read := func(ctx context.Context) (time.Time, error) {
		lease, err := c.hub.CoordinationV1().Leases(c.name).Get(ctx, clusterLease, metav1.GetOptions{})
		if err != nil || lease.Spec.RenewTime == nil {
			return time.Time{}, err
		}
		return lease.Spec.RenewTime.Time, nil
	}
	before, err := read(t.Context())
	if !apierrors.IsNotFound(err) {
		must(t, "read the cluster's lease", err)
	}
	return func(ctx context.Context) error {
		now, err := read(ctx)
		if err == nil && !now.After(before) {
			err = fmt.Errorf("the cluster's lease was last renewed at %s", before)
		}
		return err
	}
}

func setSecret(t *testing.T, in api, namespace, name string, kubeconfig []byte) {
	t.Helper()
	_, err := writeSecret(t.Context(), in, namespace, name, kubeconfig)
	must(t, "write secret "+name, err)
}

func writeSecret(ctx context.Context, in api, namespace, name string, kubeconfig []byte) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	written, err := in.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		written, err = in.CoreV1().Secrets(namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	return written, err
}

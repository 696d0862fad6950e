//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// enable enables the add-on. In hosted mode it also creates the Secret with the
// managed cluster's kubeconfig, which hosted mode requires.
func (c *cluster) enable(t *testing.T) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": addonResource.GroupVersion().String(), "kind": "ManagedClusterAddOn",
		"metadata": map[string]any{"name": addonName, "namespace": c.name},
		"spec":     map[string]any{"installNamespace": c.install},
	}}
	if c.hosted() {
		object.SetAnnotations(map[string]string{hostingAnnotation: c.hosting})
	}
	eventually(t, "enable the add-on", func(ctx context.Context) error {
		_, err := c.hub.dynamic.Resource(addonResource).Namespace(c.name).Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// provideManagedKubeconfig waits until the add-on's ServiceAccount is on the
// managed cluster, and gives the agent on the hosting cluster a kubeconfig of it.
func (c *cluster) provideManagedKubeconfig(t *testing.T) {
	t.Helper()
	if !c.hosted() {
		return
	}
	var token string
	eventually(t, "a token of the add-on's ServiceAccount on the managed cluster", func(ctx context.Context) error {
		request, err := c.managed.CoreV1().ServiceAccounts(c.install).CreateToken(ctx, agentAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err == nil {
			token = request.Status.Token
		}
		return err
	})
	config, err := clientcmd.LoadFromFile(c.outside)
	must(t, "read the managed cluster's kubeconfig", err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	content, err := clientcmd.Write(*config)
	must(t, "encode the managed cluster's kubeconfig", err)
	setSecret(t, c.home, c.install, managedSecret, content)
}

// enabled enables the add-on and waits until all ConfigMaps are copied.
func (c *cluster) enabled(t *testing.T) {
	t.Helper()
	c.enable(t)
	c.provideManagedKubeconfig(t)
	eventually(t, "every ConfigMap on the cluster", c.working)
}

// working checks that the copies are there and that the hub says so.
func (c *cluster) working(ctx context.Context) error {
	if err := c.inSync(ctx); err != nil {
		return err
	}
	return c.condition(ctx, addonResource, c.name, addonName, syncedCondition)
}

// available checks that OCM says that the add-on is available.
func (c *cluster) available(ctx context.Context) error {
	return c.condition(ctx, addonResource, c.name, addonName, "Available")
}

// disable deletes the add-on and waits until it is gone.
func (c *cluster) disable(t *testing.T) {
	t.Helper()
	client := c.hub.dynamic.Resource(addonResource).Namespace(c.name)
	err := client.Delete(t.Context(), addonName, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, "disable the add-on", err)
	}
	eventually(t, "the add-on gone, and its copies", func(ctx context.Context) error {
		_, err := client.Get(ctx, addonName, metav1.GetOptions{})
		return errors.Join(gone("ManagedClusterAddOn", err), c.hasCopies(ctx, map[string]map[string]string{}), c.noAgent(ctx), c.noAccount(ctx))
	})
}

// noAccount checks that the managed cluster of a hosted agent has its ServiceAccount no
// longer: a token of it would not be valid for the account of the same name that follows.
func (c *cluster) noAccount(ctx context.Context) error {
	if !c.hosted() {
		return nil
	}
	_, err := c.managed.CoreV1().ServiceAccounts(c.install).Get(ctx, agentAccount, metav1.GetOptions{})
	return gone("the agent's ServiceAccount on the managed cluster", err)
}

// agentPods are the add-on's pods, without those of the uninstall hook, as UID,
// readiness and restarts.
func (c *cluster) agentPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.home.CoreV1().Pods(c.install).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + agentDeployment})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *cluster) noAgent(ctx context.Context) error {
	pods, err := c.agentPods(ctx)
	if err == nil && len(pods) > 0 {
		err = fmt.Errorf("pod %s is still there", pods[0].Name)
	}
	return err
}

// undisturbed returns a check that the add-on's pods are the same as now, and were
// not restarted.
func (c *cluster) undisturbed(t *testing.T) check {
	t.Helper()
	now := func(ctx context.Context) (string, error) {
		pods, err := c.agentPods(ctx)
		var all []string
		for _, pod := range pods {
			for _, status := range pod.Status.ContainerStatuses {
				all = append(all, fmt.Sprintf("%s (%s) restarted %d times", pod.Name, pod.UID, status.RestartCount))
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", "), err
	}
	before, err := now(t.Context())
	must(t, "list the add-on's pods", err)
	if before == "" {
		t.Fatal("there is no pod of the add-on to be left alone")
	}
	return func(ctx context.Context) error {
		after, err := now(ctx)
		if err == nil && after != before {
			err = fmt.Errorf("the add-on's pods were %s and are %s", before, after)
		}
		return err
	}
}

// through runs a situation that the add-on lives through: none of its pods is replaced
// or restarted, no copy is deleted, and a change made afterwards is copied.
func (c *cluster) through(t *testing.T, situation func()) {
	t.Helper()
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	situation()
	c.put(t, "afterwards", t.Name())
	eventually(t, "a change arrives afterwards", c.working)
	must(t, "the add-on's agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// replaceAgent deletes the add-on's pods and waits until they are gone.
func (c *cluster) replaceAgent(t *testing.T) {
	t.Helper()
	pods, err := c.agentPods(t.Context())
	must(t, "list the add-on's pods", err)
	if len(pods) == 0 {
		t.Fatal("there is no pod of the add-on to replace")
	}
	for i := range pods {
		client := c.home.CoreV1().Pods(c.install)
		must(t, "delete the add-on's pod", client.Delete(t.Context(), pods[i].Name, metav1.DeleteOptions{}))
		eventually(t, "the add-on's pod gone", func(ctx context.Context) error {
			_, err := client.Get(ctx, pods[i].Name, metav1.GetOptions{})
			return gone("pod "+pods[i].Name, err)
		})
	}
}

// notReady checks that there is an agent, which runs and is not ready.
func (c *cluster) notReady(ctx context.Context) error {
	pods, err := c.agentPods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running != nil && !status.Ready && status.RestartCount == 0 {
				return nil
			}
		}
	}
	return fmt.Errorf("no agent that runs and is not ready among %d pods", len(pods))
}

// gone turns the error of a Get into one that says that it is still there.
func gone(what string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return fmt.Errorf("%s is still there", what)
	default:
		return err
	}
}

//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// What happened on the hub while the agent was away arrives when it is back:
// a new ConfigMap, a change, a deletion, of which nothing is left on the hub to
// tell, and an immutable ConfigMap deleted and made anew with other data. That the agent is away, and stays so while the hub changes,
// is made sure by nodes that accept no pod.
func agentRestart(t *testing.T, env *environment) {
	c := env.second()
	changed := env.createSource(t, c, configMap("e2e-restart-changed", map[string]string{"a": "before"}))
	deleted := env.createSource(t, c, configMap("e2e-restart-deleted", map[string]string{"a": "before"}))
	replaced := env.createSource(t, c, immutable("e2e-restart-replaced", "before"))
	eventually(t, "a copy", c.hasCopy(changed))
	eventually(t, "another copy", c.hasCopy(deleted))
	eventually(t, "an immutable copy", c.hasCopy(replaced))

	allowPods := c.cordon(t)
	c.deleteAgentPods(t)
	was := changed
	changed = env.updateSource(t, c, changed.Name, func(cm *corev1.ConfigMap) { cm.Data["a"] = "after" })
	created := env.createSource(t, c, configMap("e2e-restart-created", map[string]string{"a": "after"}))
	env.deleteSource(t, c, deleted.Name)
	env.deleteSource(t, c, replaced.Name)
	replaced = env.createSource(t, c, immutable(replaced.Name, "after"))
	consistently(t, quiet, "without an agent nothing changes", func(ctx context.Context) error {
		return errors.Join(c.hasCopy(was)(ctx), c.hasCopy(deleted)(ctx), c.hasNoCopy(created.Name)(ctx))
	})

	start := time.Now()
	must(t, "accept pods again", allowPods(t.Context()))
	eventually(t, "the change made meanwhile", c.hasCopy(changed))
	eventually(t, "the ConfigMap created meanwhile", c.hasCopy(created))
	eventually(t, "the deletion made meanwhile", c.hasNoCopy(deleted.Name))
	eventually(t, "the replacement made meanwhile", c.hasCopy(replaced))
	timings.record(c.name+": agent may start again → caught up", time.Since(start))
	eventually(t, "the agent is available", c.agentAvailable)
}

// cordon makes the nodes accept no new pod, and returns what undoes it.
func (c *cluster) cordon(t *testing.T) func(context.Context) error {
	t.Helper()
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must(t, "list nodes", err)
	var names []string
	for i := range nodes.Items {
		if !nodes.Items[i].Spec.Unschedulable {
			names = append(names, nodes.Items[i].Name)
		}
	}
	set := func(ctx context.Context, unschedulable bool) error {
		var errs []error
		for _, name := range names {
			patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, unschedulable)
			_, err := c.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	uncordon := func(ctx context.Context) error { return set(ctx, false) }
	cleanup(t, "uncordon the nodes of "+c.name, uncordon)
	must(t, "cordon the nodes of "+c.name, set(t.Context(), true))
	return uncordon
}

// deleteAgentPods deletes the agent's pods and waits until they are gone.
func (c *cluster) deleteAgentPods(t *testing.T) {
	t.Helper()
	pods, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	if len(pods) == 0 {
		t.Fatal("there is no agent to restart")
	}
	for i := range pods {
		deletePod(t, c.apiServer, &pods[i])
	}
}

// deletePod deletes a pod and waits until it is gone.
func deletePod(t *testing.T, api apiServer, pod *corev1.Pod) {
	t.Helper()
	client := api.kube.CoreV1().Pods(pod.Namespace)
	must(t, "delete pod "+pod.Name, ignoreNotFound(client.Delete(t.Context(), pod.Name, metav1.DeleteOptions{})))
	eventually(t, "pod "+pod.Name+" gone", func(ctx context.Context) error {
		_, err := client.Get(ctx, pod.Name, metav1.GetOptions{})
		return gone("pod "+pod.Name, err)
	})
}

// A controller that starts again is the same to the clusters: no new
// certificate is asked for, no secret and no Deployment is written. That the
// new controller has looked at every add-on, and so has had its chance to do
// harm, is shown by two conditions: they are taken away, and it restores them.
func controllerRestart(t *testing.T, env *environment) {
	before := map[*cluster]map[string]string{}
	for _, c := range env.clusters {
		before[c] = env.footprint(t, c)
	}
	leader := env.leader(t)

	d, err := env.hub.kube.AppsV1().Deployments(controllerNamespace).Get(t.Context(), controllerDeployment, metav1.GetOptions{})
	must(t, "get the controller's Deployment", err)
	pods, err := livePods(t.Context(), env.hub.apiServer, d)
	must(t, "list the controller's pods", err)
	start := time.Now()
	for i := range pods {
		deletePod(t, env.hub.apiServer, &pods[i])
	}
	eventually(t, "another controller leads", func(ctx context.Context) error {
		holder, err := env.leaseHolder(ctx)
		if err != nil {
			return err
		}
		if holder == "" || holder == leader {
			return fmt.Errorf("the leader's lease is held by %q, as before", holder)
		}
		return nil
	})
	timings.record("hub: controller deleted → new leader", time.Since(start))
	for _, c := range env.clusters {
		env.controllerReconciles(t, c)
	}

	for _, c := range env.clusters {
		env.settle(t, c)
		consistently(t, quiet, c.name+": what the controller answers for", func(context.Context) error {
			if diff := cmp.Diff(before[c], env.footprint(t, c)); diff != "" {
				return fmt.Errorf("it changed (-before +after):\n%s", diff)
			}
			return nil
		})
	}
}

// footprint is what must not change when the controller starts again.
func (e *environment) footprint(t *testing.T, c *cluster) map[string]string {
	t.Helper()
	requests, err := e.requestsOf(t.Context(), c)
	must(t, "list certificate requests", err)
	var names []string
	for i := range requests {
		// The controller removes used ones; a new certificate shows in the secret.
		if len(requests[i].Status.Certificate) == 0 {
			names = append(names, requests[i].Name)
		}
	}
	secret, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)
	d, err := c.agent(t.Context())
	must(t, "get the agent's Deployment", err)
	pods, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	var uids []string
	for i := range pods {
		uids = append(uids, string(pods[i].UID))
	}
	addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the ManagedClusterAddOn", err)
	registrations, err := json.Marshal(addOn.Status.Registrations)
	must(t, "encode status.registrations", err)
	return map[string]string{
		"certificate requests": strings.Join(names, ","),
		"secret":               string(secret.UID) + " " + string(secret.Data[corev1.TLSCertKey]),
		"Deployment":           fmt.Sprintf("%s generation %d", d.UID, d.Generation),
		"pods":                 strings.Join(uids, ","),
		"status.registrations": string(registrations),
		"status.namespace":     addOn.Status.Namespace,
		"condition Available":  fmt.Sprint(meta.IsStatusConditionTrue(addOn.Status.Conditions, addonv1beta1.ManagedClusterAddOnConditionAvailable)),
	}
}

// controllerReconciles takes two conditions away and waits until the
// controller has put them back: one by its look at the registration, one by
// its look at the works.
func (e *environment) controllerReconciles(t *testing.T, c *cluster) {
	t.Helper()
	conditions := []string{
		addonv1beta1.ManagedClusterAddOnRegistrationApplied,
		addonv1beta1.ManagedClusterAddOnManifestApplied,
	}
	addOns := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name)
	eventually(t, c.name+": take two conditions away", func(ctx context.Context) error {
		addOn, err := addOns.Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range conditions {
			meta.RemoveStatusCondition(&addOn.Status.Conditions, condition)
		}
		_, err = addOns.UpdateStatus(ctx, addOn, metav1.UpdateOptions{})
		return err
	})
	for _, condition := range conditions {
		eventually(t, c.name+": the new controller restores "+condition, e.addonCondition(c, condition))
	}
}

func (e *environment) leader(t *testing.T) string {
	t.Helper()
	var leader string
	eventually(t, "a controller leads", func(ctx context.Context) (err error) {
		leader, err = e.leaseHolder(ctx)
		if err == nil && leader == "" {
			err = errors.New("the leader's lease has no holder")
		}
		return err
	})
	return leader
}

// leaseHolder is who holds the leader election's lease of the controller.
func (e *environment) leaseHolder(ctx context.Context) (string, error) {
	leases, err := e.hub.kube.CoordinationV1().Leases(controllerNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		if strings.HasPrefix(lease.Name, controllerDeployment) && lease.Spec.HolderIdentity != nil {
			return *lease.Spec.HolderIdentity, nil
		}
	}
	return "", fmt.Errorf("no lease %s* in namespace %s", controllerDeployment, controllerNamespace)
}

//go:build e2e && kind

package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const enforceLabel = "pod-security.kubernetes.io/enforce"

// Both programs run where only restricted pods may: the agent of the first
// cluster was started in such a namespace, and the controller's pod would be
// admitted to one. (The controller's own namespace cannot be labelled for the
// test: the operator of Open Cluster Management beside it does not meet that
// level.) Neither has a shell or runs as root, as the kubelet saw them start.
func podsMeetRestricted(t *testing.T, env *environment, _ map[string]string) {
	c := env.first()
	ns, err := c.kube.CoreV1().Namespaces().Get(t.Context(), c.installNamespace, metav1.GetOptions{})
	must(t, "get the install namespace", err)
	if ns.Labels[enforceLabel] != "restricted" {
		t.Fatalf("namespace %s does not enforce the restricted level: %v", ns.Name, ns.Labels)
	}
	must(t, "the agent is available there", c.agentAvailable(t.Context()))

	d, err := env.hub.kube.AppsV1().Deployments(controllerNamespace).Get(t.Context(), controllerDeployment, metav1.GetOptions{})
	must(t, "get the controller's Deployment", err)
	trial := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "e2e-restricted", Labels: map[string]string{enforceLabel: "restricted", suiteLabel: "true"},
	}}
	namespaces := env.hub.kube.CoreV1().Namespaces()
	_, err = namespaces.Create(t.Context(), trial, metav1.CreateOptions{})
	must(t, "create a namespace that enforces the restricted level", err)
	cleanup(t, "namespace "+trial.Name, func(ctx context.Context) error {
		if err := namespaces.Delete(ctx, trial.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return poll(ctx, deadline, func(ctx context.Context) error {
			_, err := namespaces.Get(ctx, trial.Name, metav1.GetOptions{})
			return gone("namespace "+trial.Name, err)
		})
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: controllerDeployment + "-", Namespace: trial.Name},
		Spec:       d.Spec.Template.Spec,
	}
	pod.Spec.ServiceAccountName = "default"
	eventually(t, "the controller's pod is admitted", func(ctx context.Context) error {
		_, err := env.hub.kube.CoreV1().Pods(trial.Name).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
	privileged := pod.DeepCopy()
	privileged.Spec.Containers[0].SecurityContext = nil
	if _, err := env.hub.kube.CoreV1().Pods(trial.Name).Create(t.Context(), privileged,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		t.Error("a pod without a security context is admitted: the namespace enforces nothing, and the test shows nothing")
	}
}

// labelNamespace makes a namespace admit restricted pods alone, until the end
// of the test.
func labelNamespace(t *testing.T, api apiServer, name string) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		patch := []byte(`{"metadata":{"labels":{"` + enforceLabel + `":` + value + `}}}`)
		_, err := api.kube.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	cleanup(t, "take the label off "+name, func(ctx context.Context) error { return set(ctx, "null") })
	must(t, "label "+name, set(t.Context(), `"restricted"`))
}

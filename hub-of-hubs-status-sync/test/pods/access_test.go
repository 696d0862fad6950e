//go:build kind

package pods

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What neither program may do, as `kubectl auth can-i` takes it, and what one of them alone may not.
var (
	deniedBoth = []string{
		"get secrets", "list secrets -A", "get secret/" + databaseSecret, "create secrets", "get configmaps", "list configmaps -A",
		"create configmaps", "get pods", "create pods", "delete pods", "create pods --subresource=exec", "get pods --subresource=log",
		"create deployments.apps", "patch deployments.apps", "create daemonsets.apps", "create jobs.batch", "get nodes", "create namespaces",
		"create serviceaccounts --subresource=token", "create roles.rbac.authorization.k8s.io",
		"create clusterrolebindings.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io",
		"impersonate users", "approve signers.certificates.k8s.io", "create policies.policy.open-cluster-management.io",
		"patch policies.policy.open-cluster-management.io", "update policies.policy.open-cluster-management.io",
		"delete policies.policy.open-cluster-management.io", "patch placements.cluster.open-cluster-management.io",
		"update placements.cluster.open-cluster-management.io", "delete placements.cluster.open-cluster-management.io",
		"patch placementrules.apps.open-cluster-management.io", "patch subscriptions.apps.open-cluster-management.io",
		"patch managedclusters.cluster.open-cluster-management.io", "delete managedclusters.cluster.open-cluster-management.io",
		"patch managedclusters.cluster.open-cluster-management.io --subresource=status",
		"patch managedclusteraddons.addon.open-cluster-management.io --subresource=status",
		"create manifestworks.work.open-cluster-management.io", "list leases.coordination.k8s.io", "update leases.coordination.k8s.io",
		"delete leases.coordination.k8s.io", "* *", "get /metrics", "get /debug/pprof",
	}
	deniedOne = map[string][]string{
		syncProgram: {
			"list managedclusteraddons.addon.open-cluster-management.io", "list managedclusters.cluster.open-cluster-management.io",
			"delete addonsummaries.helloworld.open-cluster-management.io", "patch addonsummaries.helloworld.open-cluster-management.io",
			"update lease/" + reportProgram + "-lock",
		},
		reportProgram: {
			"patch policies.policy.open-cluster-management.io --subresource=status",
			"patch placements.cluster.open-cluster-management.io --subresource=status",
			"create placementdecisions.cluster.open-cluster-management.io", "patch placementdecisions.cluster.open-cluster-management.io",
			"create subscriptionreports.apps.open-cluster-management.io", "delete subscriptionstatuses.apps.open-cluster-management.io",
			"list managedclusteraddons.addon.open-cluster-management.io", "get policies.policy.open-cluster-management.io",
			"patch managedclusteraddons.addon.open-cluster-management.io", "update lease/" + syncProgram + "-lock",
		},
	}
	// allowed shows that the questions are asked in the right way.
	allowed = map[string]string{
		syncProgram:   "patch policies.policy.open-cluster-management.io --subresource=status",
		reportProgram: "list policies.policy.open-cluster-management.io",
	}
)

// rightsAreLeast asks the API servers what the programs may do, and then tries with the tokens of their accounts.
func rightsAreLeast(t *testing.T, w *world) {
	for _, h := range w.hubs() {
		ask := func(question string) string {
			args := append([]string{"auth", "can-i"}, strings.Fields(question)...)
			answer, err := h.run(t.Context(), "", append(args, "-n", ownNamespace, "--as=system:serviceaccount:"+ownNamespace+":"+h.program)...)
			answer, _, _ = strings.Cut(strings.TrimSpace(answer), " ")
			if answer != "yes" && answer != "no" {
				t.Fatalf("kubectl auth can-i %s: %v", question, err)
			}
			return answer
		}
		questions := append(append([]string{}, deniedBoth...), deniedOne[h.program]...)
		for _, question := range questions {
			if ask(question) != "no" {
				t.Errorf("%s may %s", h.program, question)
			}
		}
		if ask(allowed[h.program]) != "yes" {
			t.Errorf("%s may not %s: the questions are asked in the wrong way", h.program, allowed[h.program])
		}
		t.Logf("%s: %d rights are denied", h.program, len(questions))
		w.try(t, h)
	}
}

// try sends real requests with the token that a pod of the program would have.
func (w *world) try(t *testing.T, h *hub) {
	t.Helper()
	token := strings.TrimSpace(kubectl(t, h, "create", "token", h.program, "-n", ownNamespace))
	config := rest.AnonymousClientConfig(h.config)
	config.BearerToken = token
	as, err := client.New(config, client.Options{})
	must(t, "make a client with the program's token", err)
	policy := w.policy.global
	if h == w.leaf {
		policy = w.policy.leaf
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: "mine"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mine", Image: w.image}}}}
	disable := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"disabled":true}}`))
	requests := map[string]func(ctx context.Context) error{
		"get the database's secret": func(ctx context.Context) error {
			return as.Get(ctx, client.ObjectKey{Namespace: ownNamespace, Name: databaseSecret}, &corev1.Secret{})
		},
		"list all secrets": func(ctx context.Context) error { return as.List(ctx, &corev1.SecretList{}) },
		"create a pod":     func(ctx context.Context) error { return as.Create(ctx, pod) },
		"disable a policy": func(ctx context.Context) error { return as.Patch(ctx, policy.DeepCopy(), disable) },
		"delete a policy":  func(ctx context.Context) error { return as.Delete(ctx, policy.DeepCopy()) },
	}
	for name, request := range requests {
		if err := request(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("%s tried to %s, and was not forbidden to: %v", h.program, name, err)
		}
	}
	read := &unstructured.UnstructuredList{}
	read.SetGroupVersionKind(policies)
	must(t, h.program+" may list the policies with this token", as.List(t.Context(), read, client.InNamespace(policy.GetNamespace())))
	found := false
	for _, item := range read.Items {
		found = found || item.GetName() == policy.GetName()
		if disabled, _, _ := unstructured.NestedBool(item.Object, "spec", "disabled"); disabled {
			t.Errorf("policy %s is disabled", item.GetName())
		}
	}
	if !found {
		t.Errorf("policy %s is gone", policy.GetName())
	}
}

// podsRestricted: both programs' pods are admitted where only pods of the level restricted are.
func podsRestricted(t *testing.T, w *world) {
	const enforce = "pod-security.kubernetes.io/enforce"
	for _, h := range w.hubs() {
		trial := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hub-of-hubs-restricted", Labels: map[string]string{enforce: "restricted"}}}
		must(t, "create a namespace", h.client.Create(t.Context(), trial))
		t.Cleanup(func() { h.discard(t, trial) })
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: trial.Name, Name: "trial"}, Spec: *podOf(t, h).Spec.DeepCopy()}
		pod.Spec.NodeName, pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = "", "default", ""
		eventually(t, "the pod is admitted", func(ctx context.Context) error {
			return h.client.Create(ctx, pod.DeepCopy(), client.DryRunAll)
		})
		pod.Spec.Containers[0].SecurityContext = nil
		if err := h.client.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("a pod without a security context is not forbidden, so nothing is shown: %v", err)
		}
	}
}

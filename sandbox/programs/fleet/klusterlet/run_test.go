package klusterlet

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestAgentsApplyAManifestWork checks the work agent: it applies a ManifestWork, also an object of a
// kind that comes with it, reports conditions and feedback, and removes what it has applied. It also checks that nothing is left of the agents.
func TestAgentsApplyAManifestWork(t *testing.T) {
	h := newFakeHub(t)
	c := newFakeCluster(t, h)
	stop := c.run(t)
	eventually(t, "the cluster joins", h.joined)
	if _, err := c.kube.CoreV1().Namespaces().Get(t.Context(), addonNamespace, metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace for add-ons: %v", err)
	}

	works := h.work.WorkV1().ManifestWorks(clusterName)
	deployment := workv1.ResourceIdentifier{Group: "apps", Resource: "deployments", Namespace: "default", Name: "demo"}
	_, err := works.Create(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: workv1.ManifestWorkSpec{
		Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{
			manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"},"data":{"a":"1"}}`),
			manifest(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"demo","namespace":"default"},"spec":{"replicas":1,
				"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`),
			manifest(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"kinds.example.com"},
				"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"kinds","kind":"Kind"},
				"versions":[{"name":"v1","served":true,"storage":true}]}}`),
			manifest(`{"apiVersion":"example.com/v1","kind":"Kind","metadata":{"name":"demo","namespace":"default"}}`),
		}},
		ManifestConfigs: []workv1.ManifestConfigOption{{ResourceIdentifier: deployment,
			FeedbackRules: []workv1.FeedbackRule{{Type: workv1.WellKnownStatusType}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ManifestWork is applied and available, with feedback", func(ctx context.Context) (bool, error) {
		work, err := works.Get(ctx, "demo", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		ready := false
		for _, m := range work.Status.ResourceStatus.Manifests {
			for _, value := range m.StatusFeedbacks.Values {
				ready = ready || value.Name == "ReadyReplicas" && *value.Value.Integer == 1
			}
		}
		return ready && meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkApplied) &&
			meta.IsStatusConditionTrue(work.Status.Conditions, workv1.WorkAvailable), nil
	})
	copied, err := c.kube.CoreV1().ConfigMaps("default").Get(t.Context(), "demo", metav1.GetOptions{})
	if err != nil || copied.Data["a"] != "1" {
		t.Errorf("ConfigMap %v, error %v", copied.Data, err)
	}

	if err := works.Delete(t.Context(), "demo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ManifestWork is deleted", func(ctx context.Context) (bool, error) {
		_, err := works.Get(ctx, "demo", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	if _, err := c.kube.CoreV1().ConfigMaps("default").Get(t.Context(), "demo", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("ConfigMap after the deletion: error %v, want not found", err)
	}

	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	eventually(t, "the agents' goroutines end", func(context.Context) (bool, error) { return agentGoroutines() == "", nil })
}

// agentGoroutines returns the stack of a goroutine of the agents, if there is one.
func agentGoroutines() string {
	stacks := make([]byte, 16<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		for _, part := range []string{"klusterlet.(*agents)", "klusterlet.(*connection)", "basecontroller/factory.", "client-go/tools/", "apimachinery/pkg/watch."} {
			if strings.Contains(stack, part) {
				return stack
			}
		}
	}
	return ""
}

func manifest(content string) workv1.Manifest {
	return workv1.Manifest{RawExtension: k8sruntime.RawExtension{Raw: []byte(content)}}
}

// TestAgentsRegisterAnAddon checks that the agents get an add-on's certificate and report its lease.
func TestAgentsRegisterAnAddon(t *testing.T) {
	h := newFakeHub(t)
	c := newFakeCluster(t, h)
	c.shared.addonLeasePeriod = 100 * time.Millisecond
	stop := c.run(t)
	const namespace, name = "demo-namespace", "demo"
	if _, err := c.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	addons := h.addon.AddonV1alpha1().ManagedClusterAddOns(clusterName)
	addon, err := addons.Create(t.Context(), &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	addon.Status.Namespace = namespace
	addon.Status.Registrations = []addonv1alpha1.RegistrationConfig{{SignerName: certificatesv1.KubeAPIServerClientSignerName,
		Subject: addonv1alpha1.Subject{User: "demo-user", Groups: []string{"demo-group"}}}}
	if _, err := addons.UpdateStatus(t.Context(), addon, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the add-on's Secret has a kubeconfig", func(ctx context.Context) (bool, error) {
		secret, err := c.kube.CoreV1().Secrets(namespace).Get(ctx, name+"-hub-kubeconfig", metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		_, err = clientcmd.Load(secret.Data["kubeconfig"])
		return len(secret.Data["tls.crt"]) > 0 && len(secret.Data["tls.key"]) > 0, err
	})

	now := metav1.NowMicro()
	if _, err := c.kube.CoordinationV1().Leases(namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the add-on is available", func(ctx context.Context) (bool, error) {
		addon, err := addons.Get(ctx, name, metav1.GetOptions{})
		return err == nil && meta.IsStatusConditionTrue(addon.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable), err
	})
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestAgentsComeBackAfterTheirCertificateHasExpired checks that the agents end then, and that the next
// ones request another certificate as the bootstrap user.
func TestAgentsComeBackAfterTheirCertificateHasExpired(t *testing.T) {
	h := newFakeHub(t)
	c := newFakeCluster(t, h)
	c.shared.healthPeriod = 100 * time.Millisecond
	h.life.Store(int64(3 * time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Run(ctx, c.options, c.shared); !errors.Is(err, errExpired) {
		t.Fatalf("Run: %v, want %v", err, errExpired)
	}
	h.life.Store(int64(time.Hour))
	if err := h.cluster.ClusterV1().ManagedClusters().Delete(t.Context(), clusterName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	stop := c.run(t)
	eventually(t, "the cluster joins again", h.joined)
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestAgentsWaitForASlowCreation checks that a cluster joins whose certificate is signed before the
// hub has created its ManagedCluster.
func TestAgentsWaitForASlowCreation(t *testing.T) {
	h := newFakeHub(t)
	h.slowCreate.Store(int64(3 * time.Second))
	stop := newFakeCluster(t, h).run(t)
	eventually(t, "the cluster joins", h.joined)
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

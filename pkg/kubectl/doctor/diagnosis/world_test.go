package diagnosis

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

var now = time.Now().Truncate(time.Second)

func before(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func is(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: before(time.Hour)}
}

// world has an add-on that is well on cluster1, until a test changes it.
type world struct{ Facts }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Facts{Now: now, Cluster: "cluster1"}}
	w.Hub = Hub{Installed: true, MirrorsServed: true, Controller: running("open-cluster-management", manifests.ControllerName),
		HasRole: true, Configs: map[string]bool{}, Lease: leased("open-cluster-management", manifests.ControllerName)}
	w.ManagedCluster = joinedCluster("cluster1")
	w.AddOn = &addonv1beta1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: manifests.AddonName, UID: "1",
		CreationTimestamp: before(time.Hour), Annotations: map[string]string{}}}
	w.AddOn.Status.Namespace = "default"
	w.set("Configured", metav1.ConditionTrue, "Configured", "")
	w.set("RegistrationApplied", metav1.ConditionTrue, "", "")
	w.set("Available", metav1.ConditionTrue, "", "")
	w.set("Degraded", metav1.ConditionFalse, "AgentAvailable", "")
	w.set("ClusterCertificateRotated", metav1.ConditionTrue, "", "client certificate rotated starting from x to "+now.Add(time.Hour).UTC().Format("2006-01-02 15:04:05 -0700 MST"))
	w.set("ConfigMapsSynced", metav1.ConditionTrue, "Synced", "3 of 3 ConfigMaps synced")
	w.Works = []*workv1.ManifestWork{{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "addon-helloworld-deploy-0", Generation: 1, CreationTimestamp: before(time.Hour)},
		Status: workv1.ManifestWorkStatus{Conditions: []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1}}}}}
	w.Binding = identity.RoleBinding(w.AddOn)
	w.Mirror = &v1alpha1.ConfigMapMirror{Status: &v1alpha1.ConfigMapMirrorStatus{Total: 3, Synced: 3}}

	ca := fakepki.New(t)
	// In the form in which OCM's registration agent encodes it: another form makes it request a certificate.
	config, err := clientcmd.Load([]byte(ca.Kubeconfig("https://hub.example.com:6443")))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	files := func(user string, groups ...string) map[string][]byte {
		certificate, key := ca.Issue(user, now.Add(-time.Hour), now.Add(10*time.Hour), groups...)
		return map[string][]byte{"kubeconfig": kubeconfig, "tls.crt": certificate, "tls.key": key, "cluster-name": []byte("cluster1"), "agent-name": []byte("agent1")}
	}
	w.Managed = &Managed{
		Registration: &registration.Facts{Now: now, ClusterName: "cluster1",
			Bootstraps: []registration.Bootstrap{{Secret: registration.Secret{Name: registration.BootstrapSecret, Exists: true, Data: files("bootstrap")}}},
			Hub: registration.Secret{Name: registration.HubSecret, Exists: true, Data: files("system:open-cluster-management:cluster1:agent1",
				"system:open-cluster-management:cluster1", "system:open-cluster-management:managed-clusters")}},
		OCM:       []*Workload{running("open-cluster-management-agent", "klusterlet-registration-agent"), running("open-cluster-management-agent", "klusterlet-work-agent")},
		Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		Agent:     running("default", manifests.AgentDeployment),
		Secret:    &corev1.Secret{Data: files(fakepki.User)}, SecretOfHub: true,
		Lease: leased("default", manifests.AgentLease),
	}
	return w
}

func (w *world) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&w.AddOn.Status.Conditions, is(kind, status, reason, message))
}

// refuses makes the managed cluster refuse the object of a ManifestWork.
func (w *world) refuses(work, kind, message string) {
	w.Works[0].Name = work
	w.Works[0].Status.Conditions[0].Status = metav1.ConditionFalse
	w.Works[0].Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{ResourceMeta: workv1.ManifestResourceMeta{Kind: kind, Namespace: "default", Name: "helloworld"},
		Conditions: []metav1.Condition{is(workv1.ManifestApplied, metav1.ConditionFalse, "", message)}}}
}

func (w *world) unset(kind string) { meta.RemoveStatusCondition(&w.AddOn.Status.Conditions, kind) }

// hubOnly forgets the managed cluster.
func (w *world) hubOnly() { w.Managed = nil }

// uninstalled removes the add-on, but for the Secret with its credentials.
func (w *world) uninstalled() {
	w.AddOn, w.Works, w.Binding, w.Mirror, w.Managed.Agent, w.Managed.Lease = nil, nil, nil, nil, nil, nil
}

func joinedCluster(name string) *clusterv1.ManagedCluster {
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.HubAcceptsClient = true
	c.Status.Conditions = []metav1.Condition{is(clusterv1.ManagedClusterConditionJoined, metav1.ConditionTrue, "", ""),
		is(clusterv1.ManagedClusterConditionAvailable, metav1.ConditionTrue, "", "")}
	return c
}

func leased(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To(int32(60)), RenewTime: &metav1.MicroTime{Time: now.Add(-10 * time.Second)}}}
}

// running returns a Deployment with a ready pod.
func running(namespace, name string) *Workload {
	return &Workload{
		Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(1))},
			Status: appsv1.DeploymentStatus{AvailableReplicas: 1}},
		Pods: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-x", CreationTimestamp: before(time.Hour)},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}},
	}
}

// unready makes the pod of a workload not ready.
func (w *Workload) unready() *corev1.Pod {
	w.Deployment.Status.AvailableReplicas = 0
	pod := w.Pods[0]
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	return pod
}

// waiting makes its container wait.
func (w *Workload) waiting(reason, message string) {
	w.unready().Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "example.com/image", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
}

// crashed makes its container end again and again.
func (w *Workload) crashed(message string) {
	w.unready().Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 4,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}}}}
}

// refused makes its pods impossible.
func (w *Workload) refused(message string) {
	w.Deployment.Status = appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: message}}}
	w.Pods = nil
}

// event adds an event of the agent.
func (w *Workload) event(reason, message string) {
	w.Events = append(w.Events, corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: w.Pods[0].Name}, Type: corev1.EventTypeWarning,
		Reason: reason, Message: message, Source: corev1.EventSource{Component: manifests.AgentName}})
}

// request returns a certificate signing request of the cluster's registration agent, without the usages that the controller wants.
func request(age time.Duration, conditions ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r", CreationTimestamp: before(age)}}
	r.Spec.Username = "system:open-cluster-management:cluster1:agent1"
	r.Labels = map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName, clusterv1.ClusterNameLabelKey: "cluster1"}
	r.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName
	for _, c := range conditions {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: c, Reason: "ByHand", Message: "no"})
	}
	return r
}

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	operatorclient "open-cluster-management.io/api/client/operator/clientset/versioned"
	operatorv1 "open-cluster-management.io/api/operator/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// managedCluster reads the cluster where the agents run: the managed one, or in hosted mode the hosting one.
type managedCluster struct {
	// flags are those with which kubectl reaches it, each after a space.
	flags     string
	kube      kubernetes.Interface
	operators operatorclient.Interface
	// hub is how the person who asks reaches the hub.
	hub *rest.Config
}

// newManagedCluster returns a reader of a cluster that answers.
func newManagedCluster(ctx context.Context, config, hub *rest.Config, flags string) (*managedCluster, error) {
	c := limited(config)
	kube, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create the clients of %s: %w", c.Host, err)
	}
	operators, err := operatorclient.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create the clients of %s: %w", c.Host, err)
	}
	if err := kube.CoreV1().RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("ask the managed cluster %s for its version: %w", c.Host, err)
	}
	return &managedCluster{flags: flags, kube: kube, operators: operators, hub: hub}, nil
}

// gather adds what is known of the managed cluster, if it is the right one.
func (m *managedCluster) gather(ctx context.Context, f *diagnosis.Facts) {
	facts, r := &diagnosis.Managed{Flags: m.flags}, &reading{}
	namespace := diagnosis.InstallNamespace(f.AddOn)
	hosted := f.AddOn != nil && f.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] != ""
	server, known, err := m.gatherRegistration(ctx, f, hosted, facts, r)
	if err != nil {
		r.read(diagnosis.Secrets, func() error { return err })
	}
	if !known {
		// What is missing on a cluster that may be another one means nothing.
		f.NotRead = append(slices.Clone(f.NotRead), r.done()...)
		return
	}
	r.read(diagnosis.AgentNamespace, func() error {
		return found(&facts.Namespace)(m.kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}))
	})
	r.read(diagnosis.AgentSecret, func() error {
		return found(&facts.Secret)(m.kube.CoreV1().Secrets(namespace).Get(ctx, manifests.HubKubeconfigSecret, metav1.GetOptions{}))
	})
	r.read(diagnosis.AgentLease, func() error {
		return found(&facts.Lease)(m.kube.CoordinationV1().Leases(namespace).Get(ctx, manifests.AgentLease, metav1.GetOptions{}))
	})
	r.read(diagnosis.Copies, func() error {
		return found(&facts.Marker)(m.kube.CoreV1().ConfigMaps(namespace).Get(ctx, manifests.UninstallMarker, metav1.GetOptions{}))
	})
	r.read(diagnosis.AgentDeployment, func() error {
		deployment, err := m.kube.AppsV1().Deployments(namespace).Get(ctx, manifests.AgentDeployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		facts.Agent = &diagnosis.Workload{Deployment: deployment}
		r.read(diagnosis.AgentPods, func() error { return addPods(ctx, m.kube, facts.Agent) })
		return nil
	})
	if !hosted { // its rights are on another cluster then
		r.read(diagnosis.AgentRights, func() error {
			var err error
			facts.Denied, err = denied(ctx, m.kube, fmt.Sprintf("system:serviceaccount:%s:%s", namespace, manifests.AgentServiceAccount), agentRights(namespace))
			return err
		})
	}
	if f.AddOn != nil && f.AddOn.DeletionTimestamp != nil {
		facts.Hook = &diagnosis.Workload{}
		r.read(diagnosis.AgentPods, func() error {
			return podsOf(ctx, m.kube, namespace, nameLabel+"="+manifests.UninstallJob, facts.Hook)
		})
	}
	notRead := r.done()
	if facts.Agent != nil && facts.LeaseLate(f.Now) {
		r := &reading{}
		r.read(diagnosis.AgentLog, func() error {
			var err error
			facts.AgentLog, err = logOf(ctx, m.kube, facts.Agent.Pods)
			return err
		})
		notRead = append(notRead, r.done()...)
	}
	f.NotRead = append(slices.Clone(f.NotRead), notRead...)
	facts.SecretOfHub = facts.Secret != nil && leadsTo(facts.Secret.Data, server)
	f.Managed = facts
}

// logLines is how much of a log is read. The agent logs changes alone: this is more than a day of a bad one.
const logLines, logBytes = 1000, 256 << 10

// logOf returns the ends of the logs of the pods that run, one after the other.
func logOf(ctx context.Context, kube kubernetes.Interface, pods []*corev1.Pod) (string, error) {
	var all strings.Builder
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		end, err := kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
			&corev1.PodLogOptions{TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes))}).DoRaw(ctx)
		if err != nil {
			return "", fmt.Errorf("read the log of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		all.Write(end)
	}
	return all.String(), nil
}

// found returns a function that keeps the object that was got, if it was.
func found[T any](object **T) func(*T, error) error {
	return func(got *T, err error) error {
		if err == nil {
			*object = got
		}
		return err
	}
}

// agentRights are those of the Role manifests.AgentRole.
func agentRights(namespace string) []authorizationv1.ResourceAttributes {
	var rights []authorizationv1.ResourceAttributes
	for _, verb := range []string{"list", "watch", "create", "update", "delete"} {
		rights = append(rights, authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "configmaps", Verb: verb})
	}
	return append(rights,
		authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "secrets", Verb: "get", Name: manifests.HubKubeconfigSecret},
		authorizationv1.ResourceAttributes{Namespace: namespace, Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Name: manifests.AgentLease})
}

// gatherRegistration reads the Klusterlet, OCM's agents and their Secrets. known reports whether this is a managed cluster of
// OCM, or the hosting cluster of this one: whose it is, the facts tell. server is the hub's URL on the managed cluster, or empty.
func (m *managedCluster) gatherRegistration(ctx context.Context, f *diagnosis.Facts, hosted bool, managed *diagnosis.Managed, r *reading) (server string, known bool, err error) {
	facts := registration.Facts{Now: f.Now, Kubectl: "kubectl" + m.flags, KubectlHub: "kubectl" + f.Flags,
		Klusterlet: registration.DefaultKlusterlet, Namespace: registration.DefaultNamespace}
	if hosted {
		facts.Mode, facts.Klusterlet = operatorv1.InstallModeHosted, "klusterlet-"+f.Cluster
		facts.Namespace = facts.Klusterlet
	}
	k := m.klusterlet(ctx, f.Cluster, hosted, r)
	if k != nil {
		applyKlusterlet(&facts, k)
	}
	if !facts.SeveralHubs {
		facts.Bootstraps = []registration.Bootstrap{{Secret: registration.Secret{Name: registration.BootstrapSecret}}}
	}
	if facts.Hub, err = m.secret(ctx, facts.Namespace, registration.HubSecret); err != nil {
		return "", k != nil && k.Spec.ClusterName == f.Cluster, err
	}
	err = m.readBootstraps(ctx, &facts)
	known = facts.Hub.Exists || slices.ContainsFunc(facts.Bootstraps, func(b registration.Bootstrap) bool { return b.Exists })
	if err != nil {
		return "", known, err
	}
	if !known && k == nil {
		return "", false, fmt.Errorf("the namespace %s has neither a hub kubeconfig nor a bootstrap kubeconfig: this is not the managed cluster, or in hosted mode not its hosting cluster", facts.Namespace)
	}
	server = serverOf(facts, m.hub)
	for i := range facts.Bootstraps {
		facts.Bootstraps[i].Rejected = m.rejected(ctx, facts.Bootstraps[i].Secret, server)
	}
	managed.Registration, managed.OtherHub = &facts, otherHub(facts, server)
	r.read(diagnosis.KlusterletPods, func() error {
		list, err := m.kube.AppsV1().Deployments(facts.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if !slices.Contains(diagnosis.OCMAgents(facts.Klusterlet), list.Items[i].Name) {
				continue
			}
			w := &diagnosis.Workload{Deployment: &list.Items[i]}
			managed.OCM = append(managed.OCM, w)
			if err := addPods(ctx, m.kube, w); err != nil {
				return err
			}
		}
		return nil
	})
	return server, true, nil
}

// readBootstraps reads the Secrets of the bootstrap kubeconfigs that the facts name.
func (m *managedCluster) readBootstraps(ctx context.Context, facts *registration.Facts) (err error) {
	for i := range facts.Bootstraps {
		b := &facts.Bootstraps[i]
		if b.Secret, err = m.secret(ctx, facts.Namespace, b.Name); err != nil {
			return err
		}
	}
	return nil
}

// klusterlet returns the Klusterlet of the cluster, or nil.
func (m *managedCluster) klusterlet(ctx context.Context, cluster string, hosted bool, r *reading) *operatorv1.Klusterlet {
	list, err := m.operators.OperatorV1().Klusterlets().List(ctx, metav1.ListOptions{})
	if err != nil {
		r.read(diagnosis.Klusterlet, func() error { return err })
		return nil
	}
	for i := range list.Items {
		k := &list.Items[i]
		if k.Spec.ClusterName == cluster || !hosted && !isHosted(k) {
			return k
		}
	}
	return nil
}

func isHosted(k *operatorv1.Klusterlet) bool {
	return k.Spec.DeployOption.Mode == operatorv1.InstallModeHosted || k.Spec.DeployOption.Mode == operatorv1.InstallModeSingletonHosted
}

// applyKlusterlet takes what the Klusterlet tells of its registration agent.
func applyKlusterlet(facts *registration.Facts, k *operatorv1.Klusterlet) {
	facts.Mode, facts.Klusterlet, facts.ClusterName = k.Spec.DeployOption.Mode, k.Name, k.Spec.ClusterName
	switch {
	case isHosted(k):
		facts.Namespace = k.Name
	case k.Spec.Namespace != "":
		facts.Namespace = k.Spec.Namespace
	}
	c := k.Spec.RegistrationConfiguration
	if c == nil {
		return
	}
	if c.RegistrationDriver.AuthType != "" {
		facts.Driver = registration.Driver(c.RegistrationDriver.AuthType)
	}
	if local := c.BootstrapKubeConfigs.LocalSecrets; c.BootstrapKubeConfigs.Type == operatorv1.LocalSecrets && local != nil {
		for _, s := range local.KubeConfigSecrets {
			if len(validation.IsDNS1123Subdomain(s.Name)) == 0 {
				facts.SeveralHubs = true
				facts.Bootstraps = append(facts.Bootstraps, registration.Bootstrap{Secret: registration.Secret{Name: s.Name}})
			}
		}
	}
}

func (m *managedCluster) secret(ctx context.Context, namespace, name string) (registration.Secret, error) {
	secret, err := m.kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return registration.Secret{Name: name}, nil
	case err != nil:
		return registration.Secret{Name: name}, err
	default:
		return registration.Secret{Name: name, Exists: true, Data: secret.Data}, nil
	}
}

// probeTimeout is how long the hub may take to answer to a bootstrap kubeconfig.
const probeTimeout = 5 * time.Second

// rejected asks the hub whether the user of a bootstrap kubeconfig may join, and returns the answer if that is no. The review that
// it creates is answered and not stored. It goes to the hub of the person who asks, with the credentials alone: the address in
// the kubeconfig is a managed cluster's word. It returns nothing for a kubeconfig of another hub than the one at server.
func (m *managedCluster) rejected(ctx context.Context, secret registration.Secret, server string) string {
	config := bootstrapLogin(secret.Data["kubeconfig"], server, m.hub)
	if config == nil {
		return ""
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	right := authorizationv1.ResourceAttributes{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "create"}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	answer, err := kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err):
		return "401 Unauthorized"
	case err == nil && !answer.Status.Allowed:
		return "it may not create certificatesigningrequests"
	default:
		return ""
	}
}

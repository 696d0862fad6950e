package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	operatorclient "open-cluster-management.io/api/client/operator/clientset/versioned"
	operatorv1 "open-cluster-management.io/api/operator/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// managedCluster reads the cluster where the agents run: the managed one, or in hosted mode the hosting one.
type managedCluster struct {
	kubectl   string
	kube      kubernetes.Interface
	operators operatorclient.Interface
}

func newManagedCluster(config *rest.Config, kubectl string) (*managedCluster, error) {
	c := limited(config)
	kube, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create the clients of %s: %w", c.Host, err)
	}
	operators, err := operatorclient.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("create the clients of %s: %w", c.Host, err)
	}
	return &managedCluster{kubectl: kubectl, kube: kube, operators: operators}, nil
}

// gather adds what is known of the managed cluster.
func (m *managedCluster) gather(ctx context.Context, f *diagnosis.Facts) {
	facts, r := &diagnosis.Managed{Kubectl: m.kubectl, OCM: map[string]*diagnosis.Workload{}}, &reading{}
	namespace, hosted := manifests.DefaultInstallNamespace, false
	if f.AddOn != nil {
		if f.AddOn.Status.Namespace != "" {
			namespace = f.AddOn.Status.Namespace
		}
		hosted = f.AddOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] != ""
	}
	r.read(diagnosis.Secrets, func() error { return m.gatherRegistration(ctx, f, hosted, facts, r) })
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
		facts.Agent, err = workload(ctx, m.kube, deployment)
		return err
	})
	r.read(diagnosis.AgentRights, func() error {
		var err error
		if !hosted { // its rights are on another cluster then
			facts.Denied, err = denied(ctx, m.kube, fmt.Sprintf("system:serviceaccount:%s:%s", namespace, manifests.AgentServiceAccount), agentRights(namespace))
		}
		return err
	})
	if f.AddOn != nil && f.AddOn.DeletionTimestamp != nil {
		r.read(diagnosis.AgentPods, func() error {
			hook := &diagnosis.Workload{}
			err := podsOf(ctx, m.kube, namespace, controllerNameKey+"="+manifests.UninstallJob, hook)
			facts.Hook = hook
			return err
		})
	}
	f.NotRead = append(f.NotRead[:len(f.NotRead):len(f.NotRead)], r.done()...)
	f.Managed = facts
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

// gatherRegistration reads the Klusterlet, OCM's agents and their Secrets.
func (m *managedCluster) gatherRegistration(ctx context.Context, f *diagnosis.Facts, hosted bool, managed *diagnosis.Managed, r *reading) error {
	facts := registration.Facts{Now: f.Now, Kubectl: m.kubectl, Namespace: "open-cluster-management-agent"}
	if hosted {
		facts.Mode, facts.Namespace = operatorv1.InstallModeHosted, "klusterlet-"+f.Cluster
	}
	if k := m.klusterlet(ctx, f.Cluster, hosted, r); k != nil {
		applyKlusterlet(&facts, k)
	}
	names := []string{registration.BootstrapSecret}
	if facts.SeveralHubs {
		names = nil
		for _, b := range facts.Bootstraps {
			names = append(names, b.Name)
		}
	}
	facts.Bootstraps = nil
	for _, name := range names {
		secret, err := m.secret(ctx, facts.Namespace, name)
		if err != nil {
			return err
		}
		facts.Bootstraps = append(facts.Bootstraps, registration.Bootstrap{Secret: secret, Rejected: rejected(ctx, secret)})
	}
	hub, err := m.secret(ctx, facts.Namespace, registration.HubSecret)
	if err != nil {
		return err
	}
	if facts.Hub = hub; !hub.Exists && !facts.Bootstraps[0].Exists {
		// A cluster without any of them is no managed cluster, or its klusterlet is elsewhere.
		if _, err := m.kube.CoreV1().Namespaces().Get(ctx, facts.Namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			return fmt.Errorf("there is no namespace %s: is this the managed cluster?", facts.Namespace)
		}
	}
	managed.Registration = &facts
	r.read(diagnosis.KlusterletPods, func() error {
		list, err := m.kube.AppsV1().Deployments(facts.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		agents := map[string]*diagnosis.Workload{}
		for i := range list.Items {
			if !strings.HasSuffix(list.Items[i].Name, "-agent") {
				continue
			}
			w, err := workload(ctx, m.kube, &list.Items[i])
			if err != nil {
				return err
			}
			agents[list.Items[i].Name] = w
		}
		managed.OCM = agents
		return nil
	})
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
		isHosted := k.Spec.DeployOption.Mode == operatorv1.InstallModeHosted || k.Spec.DeployOption.Mode == operatorv1.InstallModeSingletonHosted
		if k.Spec.ClusterName == cluster || !hosted && !isHosted {
			return k
		}
	}
	return nil
}

// applyKlusterlet takes what the Klusterlet tells of its registration agent.
func applyKlusterlet(facts *registration.Facts, k *operatorv1.Klusterlet) {
	facts.Mode, facts.Klusterlet, facts.ClusterName = k.Spec.DeployOption.Mode, k.Name, k.Spec.ClusterName
	facts.Namespace = k.Spec.Namespace
	switch k.Spec.DeployOption.Mode {
	case operatorv1.InstallModeHosted, operatorv1.InstallModeSingletonHosted:
		facts.Namespace = k.Name
	default:
		if facts.Namespace == "" {
			facts.Namespace = "open-cluster-management-agent"
		}
	}
	c := k.Spec.RegistrationConfiguration
	if c == nil {
		return
	}
	if c.RegistrationDriver.AuthType != "" {
		facts.Driver = registration.Driver(c.RegistrationDriver.AuthType)
	}
	if local := c.BootstrapKubeConfigs.LocalSecrets; c.BootstrapKubeConfigs.Type == operatorv1.LocalSecrets && local != nil {
		facts.SeveralHubs = true
		for _, s := range local.KubeConfigSecrets {
			facts.Bootstraps = append(facts.Bootstraps, registration.Bootstrap{Secret: registration.Secret{Name: s.Name}})
		}
	}
}

func (m *managedCluster) secret(ctx context.Context, namespace, name string) (registration.Secret, error) {
	secret, err := m.kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return registration.Secret{Name: name}, nil
	case err != nil:
		return registration.Secret{}, err
	default:
		return registration.Secret{Name: name, Exists: true, Data: secret.Data}, nil
	}
}

// probeTimeout is how long a hub may take to answer to a bootstrap kubeconfig. It may not be reachable from here.
const probeTimeout = 5 * time.Second

// rejected asks the hub of a bootstrap kubeconfig whether its user may join, and returns the answer if that is no. The review
// that it creates is answered and not stored.
func rejected(ctx context.Context, secret registration.Secret) string {
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return "" // the judge tells what is wrong with it
	}
	// Files that it names are on the cluster, and not on this machine.
	if config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" || config.BearerTokenFile != "" || config.ExecProvider != nil || config.AuthProvider != nil {
		return ""
	}
	config.Timeout = probeTimeout
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
	case apierrors.IsForbidden(err):
		return "403 Forbidden"
	case err == nil && !answer.Status.Allowed:
		return "may not create certificatesigningrequests"
	default:
		return ""
	}
}

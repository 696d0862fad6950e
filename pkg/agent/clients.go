package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/internal/kubeconfig"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

// connect creates the clients of the managed cluster and of the cluster where the
// agent runs. They are the same unless the agent is hosted.
func (a *agent) connect() error {
	if a.options.Hosted {
		config, err := hostingConfig()
		if err != nil {
			return err
		}
		if a.home, err = a.client(config); err != nil {
			return fmt.Errorf("connect to the hosting cluster: %w", err)
		}
	}
	config, err := a.managedConfig()
	if err != nil {
		return err
	}
	if a.managed, err = a.client(config); err != nil {
		return fmt.Errorf("connect to the managed cluster: %w", err)
	}
	if a.home == nil {
		a.home = a.managed
	}
	return nil
}

// client returns a client of the managed or the hosting cluster. The proxy in the
// environment is for the hub. These clusters are reached through a proxy only if the
// kubeconfig has a proxy-url. With options.Managed the caller decides: client-go shares
// the connections of equal configurations, and no two with a function for the proxy are.
func (a *agent) client(config *rest.Config) (*kubeclient.Client, error) {
	a.limit(config)
	if config.Proxy == nil && a.options.Managed == nil {
		config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	return kubeclient.New(config)
}

// managedConfig returns the configuration of the managed cluster's client.
func (a *agent) managedConfig() (*rest.Config, error) {
	if a.options.Managed != nil {
		return rest.CopyConfig(a.options.Managed), nil
	}
	if a.options.Hosted {
		if err := a.checkManagedKubeconfig(); err != nil {
			return nil, err
		}
	}
	return kubeconfig.Load(a.options.Kubeconfig, "--"+manifests.FlagKubeconfig, "the managed cluster")
}

// checkManagedKubeconfig rejects a kubeconfig with two kinds of credentials. For
// example, an administrator's kubeconfig to which a token was added still has the
// administrator's certificate, and the API server uses the certificate.
func (a *agent) checkManagedKubeconfig() error {
	content, err := os.ReadFile(a.options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("--%s: %w", manifests.FlagKubeconfig, err)
	}
	kinds, err := credentials.Kinds(content)
	if err != nil {
		return fmt.Errorf("--%s: %s: %w", manifests.FlagKubeconfig, a.options.Kubeconfig, err)
	}
	if len(kinds) > 1 {
		return fmt.Errorf("the kubeconfig in Secret %s/%s has more than one kind of credentials (%s): "+
			"keep only the token of ServiceAccount %s/%s of the managed cluster, and create the Secret again",
			a.options.Namespace, manifests.ManagedKubeconfigSecret, strings.Join(kinds, ", "),
			a.options.Namespace, manifests.AgentServiceAccount)
	}
	return nil
}

// hostingConfig returns the configuration for the cluster where a hosted agent's pod
// runs.
func hostingConfig() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	switch {
	case errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("not running in a pod: --%s is for a pod on a hosting cluster; omit it to run by hand", manifests.FlagHosted)
	case err != nil:
		return nil, fmt.Errorf("read the pod's ServiceAccount: %w", err)
	default:
		return config, nil
	}
}

// limit sets rate limits and user agent, which are the same for every client.
func (a *agent) limit(config *rest.Config) {
	config.QPS = a.options.KubeAPIQPS
	config.Burst = a.options.KubeAPIBurst
	config.UserAgent = manifests.AgentCommand + "/" + version.Get().GitVersion
}

const (
	// rightsTimeout bounds the SelfSubjectAccessReview.
	rightsTimeout = 30 * time.Second
	// eventUnlimitedRights is the reason of the Event about a managed kubeconfig
	// with unlimited rights.
	eventUnlimitedRights = "ManagedKubeconfigMayDoEverything"
)

// warnOfRights warns if the kubeconfig of the managed cluster has unlimited rights: it
// is stored on another cluster, and the agent needs only ConfigMaps in one namespace.
// Write, if not nil, writes an Event. An error is only logged.
func (a *agent) warnOfRights(ctx context.Context, write func(kind, reason, message string)) {
	if !a.options.Hosted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}}}
	answer, err := a.managed.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		logger.V(2).Info("Failed to review the rights on the managed cluster", "reason", err.Error())
	case answer.Status.Allowed:
		message := fmt.Sprintf("the kubeconfig in Secret %s/%s has unlimited rights on the managed cluster: "+
			"replace it by one with the token of ServiceAccount %s/%s of that cluster",
			a.options.Namespace, manifests.ManagedKubeconfigSecret, a.options.Namespace, manifests.AgentServiceAccount)
		logger.Info("Found unlimited rights on the managed cluster", "detail", message)
		if write != nil {
			write(corev1.EventTypeWarning, eventUnlimitedRights, message)
		}
	}
}

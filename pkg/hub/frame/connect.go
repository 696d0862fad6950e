package frame

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/internal/kubeconfig"
)

const (
	// retryPeriod is the wait between two probes of a hub that does not answer.
	retryPeriod = 2 * time.Second

	// probeTimeout bounds one probe.
	probeTimeout = 10 * time.Second
)

// Hub is a hub that answers and has the APIs that a program needs.
type Hub struct {
	// Config is the configuration of the hub's clients.
	Config *rest.Config
	// Resources are those of the needed APIs that the hub serves.
	Resources Resources
}

// Resources are served resources by group and version, for example
// "work.open-cluster-management.io/v1".
type Resources map[string][]metav1.APIResource

// API is a part of the hub's API.
type API struct {
	// GroupVersion is for example "work.open-cluster-management.io/v1".
	GroupVersion string
	// Resources are names such as "manifestworks".
	Resources []string
	// Own reports whether the add-on's manifests have the CRDs, and not OCM.
	Own bool
}

// Connect returns the hub when it serves the needed APIs. program is the user agent of its
// clients. It probes a hub that does not answer until opts.StartupTimeout. A cluster that is not a
// hub, or denies access, is an error at once. When ctx has ended, the error tells nothing.
func Connect(ctx context.Context, opts *Options, program string, needed []API) (*Hub, error) {
	config, err := hubConfig(opts, program)
	if err != nil {
		return nil, err
	}
	resources, err := awaitHub(ctx, config, needed, opts.StartupTimeout)
	if err != nil {
		return nil, err
	}
	return &Hub{Config: config, Resources: resources}, nil
}

// hubConfig returns the configuration of the hub's clients.
func hubConfig(opts *Options, program string) (*rest.Config, error) {
	config, err := kubeconfig.Load(opts.Kubeconfig, "--kubeconfig", "the hub")
	if err != nil {
		return nil, err
	}
	config.QPS = opts.KubeAPIQPS
	config.Burst = opts.KubeAPIBurst
	return rest.AddUserAgent(config, program), nil
}

// awaitHub returns when the cluster serves the needed APIs, or has not answered within the
// timeout.
func awaitHub(ctx context.Context, config *rest.Config, needed []API, timeout time.Duration) (Resources, error) {
	logger := klog.FromContext(ctx)
	probe := rest.CopyConfig(config)
	probe.Timeout = probeTimeout
	client, err := discovery.NewDiscoveryClientForConfig(probe)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}

	var resources Resources
	var last error
	err = wait.PollUntilContextTimeout(ctx, retryPeriod, timeout, true, func(context.Context) (bool, error) {
		resources, err = servedResources(client, needed)
		switch {
		case err == nil:
			return true, checkAPIs(config.Host, needed, resources)
		case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
			return false, fmt.Errorf("look for OCM's API at %s: %w: check the credentials in --kubeconfig, or the pod's service account", config.Host, err)
		case !mayPass(err):
			return false, fmt.Errorf("look for OCM's API at %s: %w: check that --kubeconfig points at a hub", config.Host, err)
		}
		last = err
		logger.Info("Waiting for the hub", "host", config.Host, "reason", err.Error())
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && last != nil {
		return nil, fmt.Errorf("the hub at %s did not answer within %s: %w: check that it runs, and --kubeconfig", config.Host, timeout, last)
	}
	return resources, err
}

// servedResources returns the served resources of the needed groups and versions.
func servedResources(client discovery.ServerResourcesInterface, needed []API) (Resources, error) {
	resources := Resources{}
	for _, api := range needed {
		list, err := client.ServerResourcesForGroupVersion(api.GroupVersion)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		resources[api.GroupVersion] = list.APIResources
	}
	return resources, nil
}

// mayPass reports whether a retry may succeed: no connection, a timeout, or a server
// that is overloaded or starting.
func mayPass(err error) bool {
	var urlErr *url.Error
	var netErr net.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err),
		apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsUnexpectedServerError(err):
		return true
	case errors.As(err, &untrusted):
		return false
	}
	return errors.As(err, &urlErr) || errors.As(err, &netErr)
}

// checkAPIs returns an error that names the needed resources that the cluster at host
// does not serve, or nil.
func checkAPIs(host string, needed []API, resources Resources) error {
	var missing, own []string
	for _, api := range needed {
		for _, resource := range api.Resources {
			switch {
			case slices.ContainsFunc(resources[api.GroupVersion], func(r metav1.APIResource) bool { return r.Name == resource }):
			case api.Own:
				own = append(own, resource+"."+api.GroupVersion)
			default:
				missing = append(missing, resource+"."+api.GroupVersion)
			}
		}
	}
	switch {
	case len(missing) == 0 && len(own) == 0:
		return nil
	case len(missing) == 0:
		return fmt.Errorf("the hub at %s does not serve %s: the add-on's CRDs are missing: apply those of this version "+
			"(kubectl apply -f deploy/base/crds, or upgrade the Helm chart)", host, strings.Join(own, ", "))
	}
	return fmt.Errorf("the cluster at %s is not a hub of Open Cluster Management, or its version is too old: it does not serve %s: "+
		"install OCM v1.2 or later there (for example with clusteradm init), or point --kubeconfig at a hub", host, strings.Join(missing, ", "))
}

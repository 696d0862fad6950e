package controller

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
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/kubeconfig"
	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// retryPeriod is the wait between two probes of a hub that does not answer.
	retryPeriod = 2 * time.Second

	// probeTimeout bounds one probe.
	probeTimeout = 10 * time.Second
)

// hubConfig returns the configuration of the hub's clients.
func hubConfig(opts *Options) (*rest.Config, error) {
	config, err := kubeconfig.Load(opts.Kubeconfig, "--kubeconfig", "the hub")
	if err != nil {
		return nil, err
	}
	config.QPS = opts.KubeAPIQPS
	config.Burst = opts.KubeAPIBurst
	return rest.AddUserAgent(config, manifests.ControllerName), nil
}

// served are the resources of the APIs that the controller needs, by group and version.
type served map[string][]metav1.APIResource

// awaitHub returns when the cluster serves OCM's API. It probes a cluster that does not
// answer until the timeout. A cluster that is not a hub, or denies access, is an error
// at once.
func awaitHub(ctx context.Context, config *rest.Config, timeout time.Duration) (served, error) {
	logger := klog.FromContext(ctx)
	probe := rest.CopyConfig(config)
	probe.Timeout = probeTimeout
	client, err := discovery.NewDiscoveryClientForConfig(probe)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}

	var resources served
	var last error
	err = wait.PollUntilContextTimeout(ctx, retryPeriod, timeout, true, func(context.Context) (bool, error) {
		resources, err = servedResources(client)
		switch {
		case err == nil:
			return true, checkAPIs(config.Host, resources)
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

// servedResources returns the served resources of the groups and versions that the
// controller needs.
func servedResources(client discovery.ServerResourcesInterface) (served, error) {
	resources := served{}
	for _, api := range requiredAPIs() {
		list, err := client.ServerResourcesForGroupVersion(api.groupVersion)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		resources[api.groupVersion] = list.APIResources
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

// requiredAPI is a part of OCM's API that the controller needs.
type requiredAPI struct {
	groupVersion string
	resources    []string
}

// requiredAPIs returns the APIs without which a cluster is not a hub for this
// controller.
func requiredAPIs() []requiredAPI {
	return []requiredAPI{
		{addonv1beta1.GroupVersion.String(), []string{"addondeploymentconfigs", "clustermanagementaddons", "managedclusteraddons"}},
		{clusterv1.GroupVersion.String(), []string{"managedclusters"}},
		{workv1.GroupVersion.String(), []string{"manifestworks"}},
	}
}

// checkAPIs returns an error that names the required resources that the cluster at host
// does not serve, or nil.
func checkAPIs(host string, resources served) error {
	var missing []string
	for _, api := range requiredAPIs() {
		for _, resource := range api.resources {
			if !slices.ContainsFunc(resources[api.groupVersion], func(r metav1.APIResource) bool { return r.Name == resource }) {
				missing = append(missing, resource+"."+api.groupVersion)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster at %s is not a hub of Open Cluster Management with add-on API %s: it does not serve %s: "+
		"install OCM there (for example with clusteradm init), or point --kubeconfig at a hub",
		host, addonv1beta1.GroupVersion.Version, strings.Join(missing, ", "))
}

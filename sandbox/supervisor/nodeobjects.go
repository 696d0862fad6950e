package supervisor

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/services"
	"open-cluster-management.io/helloworld-addon/sandbox/storage"
)

// metricsHost is the name by which an API server verifies its node as the server of metrics.
const metricsHost = "sandbox-metrics.kube-system.svc"

// metricsObjects make the node the server of metrics.k8s.io. API servers find it by the EndpointSlice, those before
// Kubernetes v1.34 by the Endpoints. The ClusterRole is that of metrics-server:
// https://github.com/kubernetes-sigs/metrics-server/tree/v0.8.0/manifests/base
const metricsObjects = `
apiVersion: v1
kind: Service
metadata: {name: sandbox-metrics, namespace: kube-system}
spec: {ports: [{port: 443, targetPort: %[2]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: sandbox-metrics, namespace: kube-system, labels: {kubernetes.io/service-name: sandbox-metrics}}
addressType: IPv4
endpoints: [{addresses: [%[1]s], conditions: {ready: true}}]
ports: [{name: "", port: %[2]d, protocol: TCP}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: sandbox-metrics, namespace: kube-system, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}
subsets: [{addresses: [{ip: %[1]s}], ports: [{port: %[2]d, protocol: TCP}]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:aggregated-metrics-reader
  labels:
    rbac.authorization.k8s.io/aggregate-to-view: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
rules:
- {apiGroups: [metrics.k8s.io], resources: [pods, nodes], verbs: [get, list, watch]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {name: sandbox-metrics, namespace: kube-system}
  caBundle: %[3]s
`

// objectsPeriod is the time between two applications of a cluster's own objects. It is that in which
// an API server writes the endpoints of the Service kubernetes:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controlplane/instance.go
const objectsPeriod = 10 * time.Second

// objectsTimeout limits an application, for example to a stopped API server.
const objectsTimeout = 10 * time.Second

// startNodeObjects applies the objects by which the cluster's API server asks the node for metrics, and
// the Service of DNS, and keeps them so. A restored snapshot may lack them or have those of another
// cluster, and without a working metrics.k8s.io no namespace can be deleted. It makes the sandbox's
// StorageClass the default once, because users may choose another.
func startNodeObjects(starting, running context.Context, group *errgroup.Group, c *member) error {
	admin := rest.CopyConfig(c.Admin)
	admin.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	applier, err := apply.New(admin)
	if err != nil {
		return fmt.Errorf("install metrics and DNS on %s: %w", c.Name, err)
	}
	objects := fmt.Appendf(services.DNSObject(controlplane.DNSAddress), metricsObjects,
		c.Address, controlplane.KubeletPort, base64.StdEncoding.EncodeToString(c.Authority.PEM()))
	write := func(ctx context.Context) error {
		if err := applier.Apply(ctx, objects); err != nil {
			return fmt.Errorf("install metrics and DNS on %s: %w", c.Name, err)
		}
		return nil
	}
	if err := write(starting); err != nil {
		return err
	}
	if err := applier.Apply(starting, []byte(storage.Objects)); err != nil {
		return fmt.Errorf("install storage on %s: %w", c.Name, err)
	}
	group.Go(func() error {
		keepApplied(running, write)
		return nil
	})
	return nil
}

// keepApplied applies objects periodically until ctx ends. The API server writes only what differs. An
// error is logged when it is new.
func keepApplied(ctx context.Context, write func(context.Context) error) {
	ticker := time.NewTicker(objectsPeriod)
	defer ticker.Stop()
	var failure string
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, objectsTimeout)
		err := write(attempt)
		cancel()
		switch {
		case err == nil:
			failure = ""
		case ctx.Err() == nil && err.Error() != failure:
			failure = err.Error()
			klog.FromContext(ctx).Error(err, "Cannot restore a cluster's own objects")
		}
	}
}

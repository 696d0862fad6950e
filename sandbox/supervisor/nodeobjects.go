package supervisor

import (
	"context"
	"encoding/base64"
	"fmt"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/storage"
)

// metricsHost is the name by which an API server verifies its node as the server of metrics.
const metricsHost = "sandbox-metrics.kube-system.svc"

// metricsObjects make the node the server of metrics.k8s.io. The ClusterRole is that of
// metrics-server: https://github.com/kubernetes-sigs/metrics-server/tree/v0.8.0/manifests/base
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

// installNodeObjects lets the cluster's API server ask the node for metrics, and makes the
// sandbox's StorageClass the default.
func installNodeObjects(ctx context.Context, c *member) error {
	applier, err := apply.New(c.Admin)
	if err != nil {
		return fmt.Errorf("install metrics and storage on %s: %w", c.Name, err)
	}
	objects := fmt.Appendf(nil, metricsObjects, c.Address, controlplane.KubeletPort, base64.StdEncoding.EncodeToString(c.Authority.PEM()))
	if err := applier.Apply(ctx, append(objects, "---"+storage.Objects...)); err != nil {
		return fmt.Errorf("install metrics and storage on %s: %w", c.Name, err)
	}
	return nil
}

package ocm

import "fmt"

// addonNamespace is the namespace of a managed cluster in which OCM installs add-ons by default.
const addonNamespace = "open-cluster-management-agent-addon"

// namespaces returns the manifests of the namespaces that OCM's operator creates on the managed
// cluster and, in hosted mode, on the hosting one:
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/pkg/operator/operators/klusterlet/controllers/klusterletcontroller
//
// In hosted mode too, addonNamespace is on the managed cluster.
func (m *Managed) namespaces() (managed, hosting []byte) {
	created := fmt.Sprintf("open-cluster-management.io/created-by-klusterlet: %q", m.name)
	managed = append(operatorNamespace(addonNamespace, created),
		operatorNamespace(agentNamespace, created+fmt.Sprintf(", operator.open-cluster-management.io/klusterlet: %q", m.name))...)
	if m.hosted() {
		hosting = operatorNamespace(m.namespace, created)
	}
	return managed, hosting
}

func operatorNamespace(name, labels string) []byte {
	return fmt.Appendf(nil, `
apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {%s}, annotations: {workload.openshift.io/allowed: management}}
---
`, name, labels)
}

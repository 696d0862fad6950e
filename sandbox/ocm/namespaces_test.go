package ocm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
)

// TestNamespaces checks on which cluster each namespace is, with which labels.
func TestNamespaces(t *testing.T) {
	const created, agents = "open-cluster-management.io/created-by-klusterlet", "operator.open-cluster-management.io/klusterlet"
	type labels map[string]map[string]string
	cluster := &controlplane.Cluster{}
	for _, test := range []struct {
		name                 string
		managed              Managed
		onManaged, onHosting labels
	}{
		{"default mode", Managed{ManagedOptions: ManagedOptions{Cluster: cluster, Host: cluster}, name: "klusterlet", namespace: agentNamespace}, labels{
			addonNamespace: {created: "klusterlet"},
			agentNamespace: {created: "klusterlet", agents: "klusterlet"},
		}, labels{}},
		{"hosted mode", Managed{ManagedOptions: ManagedOptions{Cluster: cluster, Host: &controlplane.Cluster{}}, name: "klusterlet-c", namespace: "klusterlet-c"}, labels{
			addonNamespace: {created: "klusterlet-c"},
			agentNamespace: {created: "klusterlet-c", agents: "klusterlet-c"},
		}, labels{"klusterlet-c": {created: "klusterlet-c"}}},
	} {
		managed, hosting := test.managed.namespaces()
		for _, want := range []struct {
			documents []byte
			labels    labels
		}{{managed, test.onManaged}, {hosting, test.onHosting}} {
			objects, err := apply.Decode(want.documents)
			if err != nil {
				t.Fatal(err)
			}
			got := labels{}
			for _, object := range objects {
				got[object.GetName()] = object.GetLabels()
			}
			if diff := cmp.Diff(want.labels, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

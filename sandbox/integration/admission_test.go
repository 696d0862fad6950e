//go:build sandbox

package integration

import (
	"fmt"
	"strings"
)

// alice may change ManagedClusters and ManifestWorks, and has none of the rights that OCM's webhooks
// check.
const alice = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: alice}
rules:
- {apiGroups: [cluster.open-cluster-management.io], resources: [managedclusters], verbs: [get, list, create, update, patch]}
- {apiGroups: [work.open-cluster-management.io], resources: [manifestworks], verbs: [get, list, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: alice}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: other}
`

// accepter may accept the cluster other.
const accepter = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: accepter}
rules:
- {apiGroups: [register.open-cluster-management.io], resources: [managedclusters/accept], resourceNames: [other], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: accepter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: accepter}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`

const emptyWork = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: empty, namespace: cluster1}
spec: {workload: {manifests: []}}
`

const executedWork = `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: executed, namespace: cluster1}
spec:
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: default, name: default}}}
  workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: executed, namespace: default}}]}
`

// requireAdmission checks OCM's webhooks for ManagedClusters and ManifestWorks.
func (s *sandbox) requireAdmission() {
	s.t.Helper()
	for _, cluster := range []string{"cluster1", "cluster2"} {
		if set := s.must("hub", "get", "managedcluster", cluster, "-o", `jsonpath={.metadata.labels.cluster\.open-cluster-management\.io/clusterset}`); set != "default" {
			s.t.Errorf("%s is in the cluster set %q", cluster, set)
		}
	}
	s.apply("hub", alice)
	// OCM accepts a new cluster by itself, and only once
	s.must("hub", "wait", "--for=jsonpath={.spec.hubAcceptsClient}=true", "managedcluster/other", "--timeout=60s")
	s.must("hub", "patch", "managedcluster", "other", "--type=merge", "-p", `{"spec":{"hubAcceptsClient":false}}`)
	accept := []string{"patch", "managedcluster", "other", "--as=alice", "--type=merge", "-p", `{"spec":{"hubAcceptsClient":true}}`}
	eventually(s.t, "alice may change clusters", func() error {
		_, err := s.kubectl("hub", "label", "managedcluster", "other", "--as=alice", "--overwrite", "a=b")
		return err
	})
	if out, err := s.kubectl("hub", accept...); err == nil || !strings.Contains(out, "cannot update the HubAcceptsClient field") {
		s.t.Errorf("alice accepts a cluster without the right to do so: %v\n%s", err, out)
	}
	s.apply("hub", accepter)
	eventually(s.t, "alice accepts a cluster", func() error {
		_, err := s.kubectl("hub", accept...)
		return err
	})
	s.must("hub", "delete", "managedcluster", "other", "--timeout=60s")
	s.requireDenied(emptyWork, "manifests should not be empty")
	s.requireDenied(executedWork, "user alice cannot manipulate the Manifestwork with executor default/default")
	s.requireWorkWebhook()
}

// requireWorkWebhook checks that the hub rejects ManifestWorks while the webhook server does not run.
func (s *sandbox) requireWorkWebhook() {
	s.t.Helper()
	file := s.file(emptyWork)
	for _, step := range []struct{ command, want string }{{"stop", "failed calling webhook"}, {"start", "manifests should not be empty"}} {
		if out, err := s.run(s.t.Context(), step.command, "hub/work-webhook"); err != nil {
			s.t.Fatalf("%s hub/work-webhook: %v\n%s", step.command, err, out)
		}
		eventually(s.t, "the hub rejects a ManifestWork after "+step.command, func() error {
			out, _ := s.kubectl("hub", "create", "--dry-run=server", "-f", file)
			if !strings.Contains(out, step.want) {
				return fmt.Errorf("no %q in %s", step.want, out)
			}
			return nil
		})
	}
}

// requireDenied checks that the hub does not accept the manifest from alice.
func (s *sandbox) requireDenied(manifest, want string) {
	s.t.Helper()
	file := s.file(manifest)
	if out, err := s.kubectl("hub", "create", "--as=alice", "-f", file); err == nil || !strings.Contains(out, want) {
		s.t.Errorf("want a denial with %q, got %v\n%s", want, err, out)
	}
}

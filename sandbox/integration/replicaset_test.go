//go:build sandbox

package integration

import "strings"

// replicaSet lets a Placement choose the clusters of a ManifestWorkReplicaSet, from the cluster set that
// all clusters join by default.
const replicaSet = `
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: default, namespace: default}
spec: {clusterSet: default}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: all, namespace: default}
spec: {clusterSets: [default]}
---
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: replicated, namespace: default}
spec:
  placementRefs: [{name: all}]
  manifestWorkTemplate:
    workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: replicated, namespace: default}, data: {a: b}}]}
`

// requireReplicaSet checks that a ManifestWorkReplicaSet is applied on both clusters.
func (s *sandbox) requireReplicaSet() {
	s.t.Helper()
	s.apply("hub", replicaSet)
	s.must("hub", "wait", "--for=condition=ManifestworkApplied", "manifestworkreplicaset/replicated", "-n", "default", "--timeout=60s")
	for _, cluster := range []string{"cluster1", "cluster2"} {
		if out, err := s.kubectl(cluster, "get", "configmap", "replicated", "-n", "default"); err != nil {
			s.t.Errorf("%s: %v\n%s", cluster, err, out)
		}
	}
	if works := s.must("hub", "get", "manifestworks", "-A", "-o", "name"); strings.Count(works, "/replicated") != 2 {
		s.t.Errorf("the hub has the ManifestWorks:\n%s", works)
	}
}

//go:build sandbox

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstalled checks what a hub and managed clusters have when they are up. The second cluster is
// managed in hosted mode.
func TestInstalled(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=2", "--hosted=1", "--image=programs="+os.Getenv("SANDBOX_PROGRAMS"),
		"--feature-gates=registration-controller:ResourceCleanup=false,registration-agent:ClusterProperty=true,work-agent:RawFeedbackJsonString=true")
	s.requireKubeconfigs()
	s.requireVersion()
	s.requireFeatureGates()
	s.requireNamespaces()
	s.requireHostedKubeconfig()
	s.requireDescriptions()
	s.requireAdmission()
	s.requireReplicaSet()
	s.requireServiceWebhook("hub")
	s.requireServiceWebhook("cluster1")
}

// requireKubeconfigs checks the kubeconfigs for use outside the sandbox.
func (s *sandbox) requireKubeconfigs() {
	t := s.t
	t.Helper()
	for cluster, want := range map[string]string{"hub": "hub", "cluster1": "cluster1"} {
		if got, err := s.kubectl(cluster, "config", "current-context"); err != nil || got != want {
			t.Errorf("%s.kubeconfig has the current context %q, %v", cluster, got, err)
		}
	}
	merged := filepath.Join(s.dir, "kubeconfig")
	if err := os.Rename(merged, filepath.Join(s.dir, "merged.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"hub", "cluster1"} {
		if got, err := s.kubectl("merged", "--context="+cluster, "get", "--raw", "/readyz"); err != nil || got != "ok" {
			t.Errorf("context %s of the merged kubeconfig: %q, %v", cluster, got, err)
		}
	}
}

// requireVersion checks that the API server says which Kubernetes it is.
func (s *sandbox) requireVersion() {
	s.t.Helper()
	out, err := s.kubectl("hub", "version", "-o", "json")
	var version struct {
		ServerVersion struct{ GitVersion string }
	}
	if err != nil || json.Unmarshal([]byte(out), &version) != nil || !strings.HasPrefix(version.ServerVersion.GitVersion, "v1.") {
		s.t.Errorf("kubectl version: %v\n%s", err, out)
	}
}

// requireNamespaces checks that both clusters have the namespace for add-ons, labelled by their own
// klusterlet, and that the hosting cluster has that of the second cluster's agents.
func (s *sandbox) requireNamespaces() {
	s.t.Helper()
	for _, want := range []struct{ cluster, namespace, klusterlet string }{
		{"cluster1", "open-cluster-management-agent-addon", "klusterlet"},
		{"cluster2", "open-cluster-management-agent-addon", "klusterlet-cluster2"},
		{"cluster1", "klusterlet-cluster2", "klusterlet-cluster2"},
	} {
		got := s.must(want.cluster, "get", "namespace", want.namespace, "-o", `jsonpath={.metadata.labels.open-cluster-management\.io/created-by-klusterlet}`)
		if got != want.klusterlet {
			s.t.Errorf("the namespace %s of %s is of the klusterlet %q, want %s", want.namespace, want.cluster, got, want.klusterlet)
		}
	}
}

// nodeReader lists the nodes of the cluster whose kubeconfig is in the Secret that it mounts.
const nodeReader = `
apiVersion: v1
kind: Pod
metadata: {name: node-reader, namespace: klusterlet-cluster2}
spec:
  restartPolicy: Never
  containers:
  - {name: kubectl, image: programs, command: [/kubectl, get, nodes, -o, name], env: [{name: KUBECONFIG, value: /managed/kubeconfig}],
     volumeMounts: [{name: managed, mountPath: /managed}]}
  volumes:
  - {name: managed, secret: {secretName: external-managed-kubeconfig}}
`

// requireHostedKubeconfig checks that a pod of the hosting cluster reaches the managed cluster.
func (s *sandbox) requireHostedKubeconfig() {
	s.t.Helper()
	s.apply("cluster1", nodeReader)
	s.must("cluster1", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/node-reader", "-n", "klusterlet-cluster2", "--timeout=60s")
	if got := s.must("cluster1", "logs", "node-reader", "-n", "klusterlet-cluster2"); got != "node/cluster2-node" {
		s.t.Errorf("with the Secret's kubeconfig a pod sees the nodes %q", got)
	}
}

// requireFeatureGates checks that each program has its own feature gates.
func (s *sandbox) requireFeatureGates() {
	s.t.Helper()
	for program, want := range map[string]string{
		"registration controller": "--feature-gates=ResourceCleanup=false",
		"registration agent":      "--feature-gates=ClusterProperty=true",
		"work agent":              "--feature-gates=RawFeedbackJsonString=true",
		"work manager":            "--feature-gates=ManifestWorkReplicaSet=true",
		// only the webhook servers use some gates of their component
		"registration webhook-server": "--feature-gates=ResourceCleanup=false",
		"work webhook-server":         "--feature-gates=ManifestWorkReplicaSet=true",
	} {
		found := false
		for _, command := range s.processes() {
			if strings.Contains(command, "/"+program+" ") {
				found = true
				if !strings.Contains(command, want) {
					s.t.Errorf("%s runs without %s: %s", program, want, command)
				}
			}
		}
		if !found {
			s.t.Errorf("no process of %s", program)
		}
	}
}

// requireDescriptions checks the Klusterlets and the ClusterManager, and that their status follows the
// programs.
func (s *sandbox) requireDescriptions() {
	s.t.Helper()
	for _, want := range []struct{ cluster, object, spec string }{
		{"cluster1", "klusterlet/klusterlet", "cluster1 Default ClusterProperty"},
		{"cluster1", "klusterlet/klusterlet-cluster2", "cluster2 Hosted ClusterProperty"},
		{"hub", "clustermanager/cluster-manager", " Default ResourceCleanup ManagedClusterAutoApproval"},
	} {
		eventually(s.t, want.object+" of "+want.cluster, func() error {
			got, err := s.kubectl(want.cluster, "get", want.object, "-o",
				"jsonpath={.spec.clusterName} {.spec.deployOption.mode} {.spec.registrationConfiguration.featureGates[*].feature}")
			if err == nil && got != strings.TrimSpace(want.spec) {
				err = fmt.Errorf("%q, want %q", got, want.spec)
			}
			return err
		})
	}
	for _, program := range []struct{ name, cluster, object, runs, stopped string }{
		{"cluster1/work-agent", "cluster1", "klusterlet/klusterlet", "Available=True", "Available=False"},
		{"hub/placement-controller", "hub", "clustermanager/cluster-manager", "HubPlacementDegraded=False", "HubPlacementDegraded=True"},
	} {
		for _, step := range []struct{ command, condition string }{{"stop", program.stopped}, {"start", program.runs}} {
			if out, err := s.run(s.t.Context(), step.command, program.name); err != nil {
				s.t.Fatalf("%s %s: %v\n%s", step.command, program.name, err, out)
			}
			s.must(program.cluster, "wait", "--for=condition="+step.condition, program.object, "--timeout=60s")
		}
	}
	s.must("cluster1", "patch", "klusterlet", "klusterlet", "--type=merge", "-p", `{"spec":{"clusterName":"other"}}`)
	s.must("cluster1", "wait", "--for=jsonpath={.spec.clusterName}=cluster1", "klusterlet/klusterlet", "--timeout=60s")
}

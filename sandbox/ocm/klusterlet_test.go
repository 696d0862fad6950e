package ocm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	operatorv1 "open-cluster-management.io/api/operator/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// TestKlusterlet checks that a Klusterlet has the settings with which the agents run, also those that
// have changed since the start.
func TestKlusterlet(t *testing.T) {
	enabled := func(gate string) []operatorv1.FeatureGate {
		return []operatorv1.FeatureGate{{Feature: gate, Mode: "Enable"}}
	}
	for _, test := range []struct {
		name   string
		change func(*Managed)
		files  map[string]string
		want   func(*operatorv1.KlusterletSpec)
	}{
		{"default mode", func(*Managed) {}, nil, func(*operatorv1.KlusterletSpec) {}},
		{"hosted mode", func(m *Managed) { m.Host = &controlplane.Cluster{} }, nil,
			func(s *operatorv1.KlusterletSpec) { s.DeployOption.Mode = "Hosted" }},
		{"feature gates", func(m *Managed) {
			m.FeatureGates = FeatureGates{registrationAgent: {"ClusterProperty": true}, workAgent: {"RawFeedbackJsonString": false}}
		}, nil, func(s *operatorv1.KlusterletSpec) {
			s.RegistrationConfiguration.FeatureGates = enabled("ClusterProperty")
			s.WorkConfiguration.FeatureGates = []operatorv1.FeatureGate{{Feature: "RawFeedbackJsonString", Mode: "Disable"}}
		}},
		{"tokens", func(m *Managed) { m.Agents.AddonAuth, m.Agents.AddonTokenLife = AuthToken, 10*time.Minute }, nil, func(s *operatorv1.KlusterletSpec) {
			s.RegistrationConfiguration.AddOnKubeClientRegistrationDriver = &operatorv1.AddOnRegistrationDriver{
				AuthType: "token", Token: &operatorv1.TokenConfig{ExpirationSeconds: 600}}
		}},
		{"changed by commands", func(*Managed) {}, map[string]string{NameFile: "renamed\n", AuthFile: "token\n"}, func(s *operatorv1.KlusterletSpec) {
			s.ClusterName = "renamed"
			s.RegistrationConfiguration.AddOnKubeClientRegistrationDriver = &operatorv1.AddOnRegistrationDriver{AuthType: "token"}
		}},
		{"several hubs", func(m *Managed) { m.Hubs = []*clientcmdapi.Config{{CurrentContext: "hub"}, {CurrentContext: "hub2"}} }, nil,
			func(s *operatorv1.KlusterletSpec) {
				s.RegistrationConfiguration.FeatureGates = enabled("MultipleHubs")
				s.RegistrationConfiguration.BootstrapKubeConfigs = operatorv1.BootstrapKubeConfigs{Type: operatorv1.LocalSecrets,
					LocalSecrets: &operatorv1.LocalSecretsConfig{HubConnectionTimeoutSeconds: 180,
						KubeConfigSecrets: []operatorv1.KubeConfigSecret{{Name: "bootstrap-hub-kubeconfig"}, {Name: "bootstrap-hub-kubeconfig-hub2"}}}}
			}},
	} {
		m, _ := newManaged(t)
		m.Agents.StatusSyncInterval = time.Minute
		test.change(m)
		for file, content := range test.files {
			if err := os.WriteFile(filepath.Join(m.Cluster.Dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := &operatorv1.KlusterletSpec{
			Namespace: "open-cluster-management-agent", ClusterName: "cluster1",
			DeployOption:              operatorv1.KlusterletDeployOption{Mode: "Default"},
			RegistrationConfiguration: &operatorv1.RegistrationConfiguration{},
			WorkConfiguration: &operatorv1.WorkAgentConfiguration{StatusSyncInterval: &metav1.Duration{Duration: time.Minute},
				AppliedManifestWorkEvictionGracePeriod: &metav1.Duration{Duration: 30 * time.Second}},
		}
		test.want(want)
		if diff := cmp.Diff(any(want), m.klusterlet().spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestRunning(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "programs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "programs", "one.running"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	one := process.Spec{Name: "c/one", Switch: process.SwitchOf(dir, "one")}
	two := process.Spec{Name: "c/two", Switch: process.SwitchOf(dir, "two")}
	for _, test := range []struct {
		status   metav1.ConditionStatus
		programs []process.Spec
		want     metav1.Condition
	}{
		{"True", []process.Spec{one}, metav1.Condition{Type: "T", Status: "True", Reason: "Run", Message: "these programs run: c/one"}},
		{"True", []process.Spec{one, two}, metav1.Condition{Type: "T", Status: "False", Reason: "Missing", Message: "these programs do not run: c/two"}},
		{"False", []process.Spec{two}, metav1.Condition{Type: "T", Status: "True", Reason: "Missing", Message: "these programs do not run: c/two"}},
	} {
		if diff := cmp.Diff(test.want, running("T", test.status, "Run", "Missing", test.programs...)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestClusterManager stops each program that a condition of OCM's operator names.
func TestClusterManager(t *testing.T) {
	for stopped, want := range map[string]string{
		"":                        "Applied=True HubRegistrationDegraded=False HubPlacementDegraded=False",
		"registration-controller": "Applied=True HubRegistrationDegraded=True HubPlacementDegraded=False",
		"registration-webhook":    "Applied=True HubRegistrationDegraded=True HubPlacementDegraded=False",
		"placement-controller":    "Applied=True HubRegistrationDegraded=False HubPlacementDegraded=True",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "programs"), 0o700); err != nil {
			t.Fatal(err)
		}
		h := &Hub{HubOptions: HubOptions{Cluster: &controlplane.Cluster{Options: controlplane.Options{Name: "hub"}}}}
		for _, name := range []string{"registration-controller", "registration-webhook", "placement-controller"} {
			h.programs = append(h.programs, process.Spec{Name: "hub/" + name, Switch: process.SwitchOf(dir, name)})
			if name == stopped {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, "programs", name+".running"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, c := range h.clusterManager().conditions {
			got = append(got, c.Type+"="+string(c.Status))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("without %q (-want +got):\n%s", stopped, diff)
		}
	}
}

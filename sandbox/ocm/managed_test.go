package ocm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/mount"
)

// newManaged returns a cluster whose volume of the bootstrap kubeconfig has no Secret, with one
// file in the directory of the hub's kubeconfig.
func newManaged(t *testing.T) (m *Managed, hubFile string) {
	t.Helper()
	dir := t.TempDir()
	bootstrap, err := mount.New(&rest.Config{Host: "https://127.0.0.1:1"}, agentNamespace, BootstrapSecret, filepath.Join(dir, "bootstrap"))
	if err != nil {
		t.Fatal(err)
	}
	cluster := &controlplane.Cluster{Options: controlplane.Options{Name: "cluster1", Dir: dir}}
	m = &Managed{ManagedOptions: ManagedOptions{Name: "cluster1", Cluster: cluster, Host: cluster, Agents: Agents{AddonAuth: AuthCSR}},
		hubDir: filepath.Join(dir, "hub-kubeconfig"), bootstrap: []*mount.Volume{bootstrap}}
	hubFile = filepath.Join(m.hubDir, "tls.key")
	if err := os.MkdirAll(m.hubDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hubFile, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return m, hubFile
}

// TestWithoutBootstrapSecret checks that only a new pod of the registration agent waits for the
// bootstrap kubeconfig's Secret and starts with an empty directory.
func TestWithoutBootstrapSecret(t *testing.T) {
	for _, test := range []struct {
		name     string
		fresh    bool
		missing  string
		keepsHub bool
	}{
		{"a new pod waits for its volume", true, "Secret open-cluster-management-agent/bootstrap-hub-kubeconfig on cluster1", false},
		{"a restarted container keeps its pod's volumes", false, "", true},
	} {
		m, hubFile := newManaged(t)
		_, missing, err := m.prepareRegistration(test.fresh)
		if err != nil || missing != test.missing {
			t.Errorf("%s: missing %q, %v", test.name, missing, err)
		}
		if _, err := os.Stat(hubFile); (err == nil) != test.keepsHub {
			t.Errorf("%s: the hub's kubeconfig: %v", test.name, err)
		}
	}
}

func TestRegistrationFlags(t *testing.T) {
	const name, token = "--spoke-cluster-name=cluster1", "--addon-kubeclient-registration-auth=token"
	for _, test := range []struct {
		name, file, auth string
		want             []string
	}{
		{"no file", "", "", []string{name}},
		{"tokens in place of certificates", "", "token", []string{name, token}},
		{"certificates again", "", "csr", []string{name}},
		{"flags were taken away", "\n", "", []string{name}},
		{"flags come last, so that they override", "--client-cert-expiration-seconds=3600\n--cluster-annotations=a=b c\n", "token",
			[]string{name, token, "--client-cert-expiration-seconds=3600", "--cluster-annotations=a=b c"}},
	} {
		m, _ := newManaged(t)
		for file, content := range map[string]string{RegistrationFlagsFile: test.file, AuthFile: test.auth} {
			if content == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(m.Cluster.Dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := m.prepareRegistration(false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

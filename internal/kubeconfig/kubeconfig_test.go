package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// write creates a kubeconfig of one server.
func write(t *testing.T, file, server string) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{Server: server}
	config.Contexts["c"] = &api.Context{Cluster: "c"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// raw creates a file with this content.
func raw(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "raw")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pod is the cluster of a pod.
const pod = "https://192.0.2.1:443"

func inPod(t *testing.T) {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	flag, first, second := write(t, filepath.Join(dir, "flag"), "https://flag"),
		write(t, filepath.Join(dir, "first"), "https://first"), write(t, filepath.Join(dir, "second"), "https://second")
	for _, test := range []struct {
		name, path, environment string
		home, pod               bool
		want                    string
	}{
		{"the flag is the first", flag, first, true, true, "https://flag"},
		{"the environment is the second", "", first, true, true, "https://first"},
		{"the environment may be a list, whose first file wins", "", first + ":" + second, false, false, "https://first"},
		{"a file of the list may be missing", "", "/no/such/file:" + second, false, false, "https://second"},
		{"the pod's cluster is the third, whatever is in the home directory", "", "", true, true, pod},
		{"a missing file of the environment is no reason not to run in a pod", "", "/no/such/file", false, true, pod},
		{"the home directory's file is the last", "", "", true, false, "https://home"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtest.NoCluster(t)
			t.Setenv("KUBECONFIG", test.environment)
			if test.home {
				write(t, clientcmd.RecommendedHomeFile, "https://home")
			}
			if test.pod {
				inPod(t)
			}
			config, err := Load(test.path, "--kubeconfig", "the hub")
			switch {
			case err != nil:
				// The token of a pod has one path only, which a test cannot write. The
				// file is there where the test itself runs in a pod.
				if test.want != pod || !strings.HasPrefix(err.Error(), "read the pod's service account: ") {
					t.Error(err)
				}
			case config.Host != test.want:
				t.Errorf("got %s, want %s", config.Host, test.want)
			}
		})
	}
}

// TestLoadWithoutHome: client-go's default rules would fail here, because they look for
// a kubeconfig of an old name in the home directory.
func TestLoadWithoutHome(t *testing.T) {
	runtest.NoCluster(t)
	clientcmd.RecommendedHomeFile = "/dev/null/.kube/config"
	if _, err := Load(write(t, filepath.Join(t.TempDir(), "flag"), "https://flag"), "--kubeconfig", "the hub"); err != nil {
		t.Error(err)
	}
}

func TestLoadNamesTheCause(t *testing.T) {
	empty, garbage, context := raw(t, ""), raw(t, "{"), raw(t, "clusters: [{name: c, cluster: {server: https://c}}]")
	for _, test := range []struct {
		name, path, environment string
		home, pod               bool
		want                    string
	}{
		{"no file and no pod", "", "", false, false, "no configuration of the hub: not running in a pod, so give a kubeconfig file by --kubeconfig or $KUBECONFIG"},
		{"a missing file", "/no/such/file", "", false, false, "read --kubeconfig=/no/such/file: "},
		{"garbage", garbage, "", false, false, "read --kubeconfig=" + garbage + ": "},
		{"an empty file that the user named, although there is a pod", empty, "", false, true, "read --kubeconfig=" + empty + ": "},
		{"a missing file of the environment", "", "/no/such/file", false, false, "no configuration of the hub in $KUBECONFIG=/no/such/file: "},
		{"garbage of the environment", "", garbage, false, false, "read $KUBECONFIG=" + garbage + ": "},
		{"no current context", context, "", false, false, "read --kubeconfig=" + context + ": it is empty, or has no current context: "},
		{"garbage in the home directory", "", "", true, false, "read " + garbage + ": "},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtest.NoCluster(t)
			t.Setenv("KUBECONFIG", test.environment)
			if test.home {
				clientcmd.RecommendedHomeFile = garbage
			}
			if test.pod {
				inPod(t)
			}
			_, err := Load(test.path, "--kubeconfig", "the hub")
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line that begins with %q", err, test.want)
			}
		})
	}
}

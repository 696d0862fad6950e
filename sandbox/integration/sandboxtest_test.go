//go:build sandbox

package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/sandboxtest"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// child returns a command that runs a test of testdata/child, with temporary files in a directory of its own.
func child(t *testing.T, test string, env ...string) (cmd *exec.Cmd, temporary string) {
	t.Helper()
	// not t.TempDir, whose path is too long for the sandbox's sockets
	temporary, err := os.MkdirTemp("", "child")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	// the deadline comes soon, so that WaitAvailable does not wait for long
	cmd = exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-tags", "sandbox", "-count=1", "-timeout=75s", "-parallel=3", "-v", "-run", "^"+test+"$", "./testdata/child")
	cmd.Env = append(append(os.Environ(), "TMPDIR="+temporary, "OCM_SANDBOX="+command, "OCM_SANDBOX_USE=", "OCM_SANDBOX_KEEP="), env...)
	return cmd, temporary
}

// reported returns the directory of the sandbox that a child used.
func reported(t *testing.T, out string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^DIR (.+)$`).FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("the child does not tell the directory of its sandbox:\n%s", out)
	}
	return match[1]
}

// requireEmpty waits until no process of a child's sandboxes and none of their files are left.
func requireEmpty(t *testing.T, temporary string) {
	t.Helper()
	eventually(t, "the sandbox ends", func() error {
		var left []string
		for _, p := range statedir.Processes(temporary) {
			left = append(left, strings.Join(p.Args, " "))
		}
		entries, err := os.ReadDir(temporary)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Name(), "go-build") { // of a go command that was killed
				left = append(left, entry.Name())
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("left: %q", left)
		}
		return nil
	})
}

// TestWhyAnAddonIsNotAvailable checks the message of WaitAvailable, and what is kept of a test that failed.
func TestWhyAnAddonIsNotAvailable(t *testing.T) {
	kept := t.TempDir()
	cmd, temporary := child(t, "TestBroken", "OCM_SANDBOX_KEEP="+kept)
	output, err := cmd.CombinedOutput()
	out := string(output)
	if err == nil {
		t.Fatalf("a test of a broken add-on has passed:\n%s", out)
	}
	for _, want := range []string{
		"the add-on broken ", " available on cluster1 after ",
		`the image "example.com/no-such-image:v1" is not known to the sandbox: add the option Image("example.com/no-such-image:v1", `,
		"ManagedClusterAddOn cluster1/broken:\n", "  Available=False",
		"ManifestWork cluster1/addon-broken-deploy-0:\n", "  Applied=False AppliedManifestWorkFailed",
		"  Service open-cluster-management-agent-addon/refused: Applied=False",
		"pod open-cluster-management-agent-addon/unknown-image-", "container agent: waiting: ", `"example.com/no-such-image:v1" is not known to the sandbox`,
		"pod open-cluster-management-agent-addon/crashing-", "exit code 3",
		"the end of the log of its container agent:\n", "    crash: no database\n",
		"warning on cluster1: Pod open-cluster-management-agent-addon/",
		"the sandbox's logs, events and objects are kept in " + kept,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the message has no %q", want)
		}
	}
	if strings.Contains(out, "the add-on broken on ") {
		t.Error("the add-on that WaitAvailable has reported is reported again")
	}
	if t.Failed() || testing.Verbose() {
		t.Log(out)
	}
	for _, pattern := range []string{
		"logs/sandbox.log", "logs/hub/logs/addon-manager.log", "logs/cluster1/logs/work-agent.log",
		"objects/hub/cluster1/managedclusteraddons*.yaml", "objects/cluster1/open-cluster-management-agent-addon/deployments*.yaml", "events/cluster1*",
	} {
		files, err := filepath.Glob(filepath.Join(kept, "TestBroken-*", pattern))
		if err != nil || len(files) != 1 {
			t.Errorf("%s is not kept: %q, %v", pattern, files, err)
		}
	}
	requireEmpty(t, temporary)
}

// TestStumbles checks what an author reads after the usual mistakes.
func TestStumbles(t *testing.T) {
	kept := t.TempDir()
	cmd, temporary := child(t, "TestStumbles", "OCM_SANDBOX_KEEP="+kept)
	output, err := cmd.CombinedOutput()
	out := string(output)
	if err == nil {
		t.Fatalf("a test that fails has passed:\n%s", out)
	}
	for _, want := range []string{
		"the add-on missing cannot become available on local-cluster after ",
		"the hub has no ClusterManagementAddOn missing: apply it, or correct the add-on's name\n",
		"the hub has no ManagedClusterAddOn local-cluster/missing: call Enable\n",
		"hub: apply App one: the cluster has no such kind, not even after ", "s: apply its CRD first, or correct apiVersion and kind: no matches for kind \"App\" in version \"example.com/v1\"",
		"s: the agent has reported nothing",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %q", want)
		}
	}
	report := regexp.MustCompile(`(?s)the add-on panicking on local-cluster:\n *pod open-cluster-management-agent-addon/panicking-.*?` +
		`the end of the log of its container agent.*? panic: no table\n.* goroutine 1 .*ManagedClusterAddOn local-cluster/panicking:\n.*the sandbox's logs, events and objects are kept in `)
	if !report.MatchString(out) {
		t.Error("the log of the agent that panics is not shown before the directory of what is kept")
	}
	if t.Failed() || testing.Verbose() {
		t.Log(out)
	}
	requireEmpty(t, temporary)
}

// TestASandboxEndsWithItsTests kills the process of tests with a sandbox in several ways.
func TestASandboxEndsWithItsTests(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "child.test")
	if out, err := exec.Command("go", "test", "-trimpath", "-tags", "sandbox", "-c", "-o", binary, "./testdata/child").CombinedOutput(); err != nil {
		t.Fatalf("build the child: %v\n%s", err, out)
	}
	for _, test := range []struct{ name, run, until string }{
		{"killed during the start", "TestSleeps", "control plane ready"},
		{"killed", "TestSleeps", "DIR "},
		{"a panic", "TestPanics", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			prepared, temporary := child(t, "")
			cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run=^"+test.run+"$")
			cmd.Env = prepared.Env
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				out.WriteString(lines.Text() + "\n")
				if test.until != "" && strings.Contains(lines.Text(), test.until) {
					if len(statedir.Processes(temporary)) == 0 {
						t.Error("no process of the sandbox is found, so the check below cannot fail")
					}
					_ = cmd.Process.Kill()
				}
			}
			if err := cmd.Wait(); err == nil {
				t.Errorf("the child has passed:\n%s", &out)
			}
			if !strings.Contains(out.String(), "control plane ready") {
				t.Errorf("the child has started no sandbox:\n%s", &out)
			}
			requireEmpty(t, temporary)
		})
	}
}

// TestASandboxIsUsedAgain runs tests twice on the sandbox of OCM_SANDBOX_USE, and once with options that it
// does not fit.
func TestASandboxIsUsedAgain(t *testing.T) {
	s := newSandbox(t)
	var pids []int
	for range 2 {
		cmd, _ := child(t, "TestShared", "OCM_SANDBOX_USE="+s.dir)
		started := time.Now()
		output, err := cmd.CombinedOutput()
		out := string(output)
		if err != nil || reported(t, out) != s.dir || !strings.Contains(out, "keeps running; end it with: "+command+" --dir="+s.dir+" down") {
			t.Fatalf("child: %v\n%s", err, out)
		}
		t.Logf("a run took %s", time.Since(started).Round(100*time.Millisecond))
		record, err := statedir.Read(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, record.PID)
	}
	if pids[0] != pids[1] {
		t.Errorf("the second run has used another sandbox: %v", pids)
	}
	kept := t.TempDir()
	cmd, _ := child(t, "TestFails", "OCM_SANDBOX_USE="+s.dir, "OCM_SANDBOX_KEEP="+kept)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("a test that fails on a used sandbox has passed:\n%s", out)
	}
	if files, err := filepath.Glob(filepath.Join(kept, "TestFails-*", "logs", "sandbox.log")); err != nil || len(files) != 1 {
		t.Errorf("the logs of a test that calls Shared twice are kept in %q, %v, want one place", files, err)
	}
	cmd, _ = child(t, "TestShared", "OCM_SANDBOX_USE="+s.dir, "CHILD_HUBS=2")
	out, err := cmd.CombinedOutput()
	if !errors.As(err, new(*exec.ExitError)) || !strings.Contains(string(out), "does not fit: it has 1 hubs and 0 managed clusters, and the tests need 2 and 0") {
		t.Errorf("tests that need another sandbox: %v\n%s", err, out)
	}
}

// TestTestsSideBySide has two tests with a sandbox of their own at the same time.
func TestTestsSideBySide(t *testing.T) {
	t.Setenv("OCM_SANDBOX", command)
	opts := []sandboxtest.Option{sandboxtest.Clusters(0), sandboxtest.HubAs("local-cluster")}
	one, two := sandboxtest.Start(t, opts...), sandboxtest.Start(t, opts...)
	one.Hub().ApplyYAML(t, "{apiVersion: v1, kind: Namespace, metadata: {name: only-one}}")
	if _, err := clientOf(t, one.Cluster(t, "local-cluster")).CoreV1().Namespaces().Get(t.Context(), "only-one", metav1.GetOptions{}); err != nil {
		t.Errorf("the hub under its name as a managed cluster: %v", err)
	}
	if _, err := clientOf(t, two.Hub()).CoreV1().Namespaces().Get(t.Context(), "only-one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the other sandbox's hub has the namespace: %v", err)
	}
}

// TestSituationsOfATest brings the clusters of a test into situations by the methods of package sandboxtest.
func TestSituationsOfATest(t *testing.T) {
	t.Setenv("OCM_SANDBOX", command)
	s := sandboxtest.Start(t, sandboxtest.Clusters(2), sandboxtest.Hosted(1))
	hub, first, hosted := s.Hub(), s.Cluster(t, "cluster1"), s.Cluster(t, "cluster2")
	t.Run("bootstrap", func(t *testing.T) {
		for _, test := range []struct {
			cluster, on *sandboxtest.Cluster
			namespace   string
		}{{first, first, "open-cluster-management-agent"}, {hosted, first, "klusterlet-cluster2"}} {
			test.cluster.ExpireBootstrap(t)
			requireExpired(t, test.on, test.namespace, true)
			test.cluster.RenewBootstrap(t)
			requireExpired(t, test.on, test.namespace, false)
		}
	})
	t.Run("a program", func(t *testing.T) {
		version := func(context.Context) error {
			_, err := clientOf(t, hosted).Discovery().ServerVersion()
			return err
		}
		hosted.Stop(t, "kube-apiserver")
		if err := version(t.Context()); err == nil {
			t.Error("an API server that was stopped answers")
		}
		hosted.Start(t, "kube-apiserver")
		sandboxtest.Eventually(t, time.Minute, version)
		hub.Restart(t, "placement-controller")
	})
	t.Run("a cut", func(t *testing.T) {
		first.Cut(t)
		hub.ApplyYAML(t, `{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: a, namespace: cluster1}, spec: {workload: {manifests: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: from-hub, namespace: default}}]}}}`)
		arrived := func(ctx context.Context) error {
			_, err := clientOf(t, first).CoreV1().ConfigMaps("default").Get(ctx, "from-hub", metav1.GetOptions{})
			return err
		}
		time.Sleep(2 * time.Second)
		if err := arrived(t.Context()); !apierrors.IsNotFound(err) {
			t.Errorf("the ManifestWork has reached a cluster that is cut off: %v", err)
		}
		first.Mend(t)
		sandboxtest.Eventually(t, time.Minute, arrived)
	})
	t.Run("a new authority", func(t *testing.T) {
		before := authority(t, hub)
		hub.NewCA(t)
		sandboxtest.Eventually(t, time.Minute, func(context.Context) error {
			if after := authority(t, hub); after == before {
				return fmt.Errorf("the certificate is of %s still", after)
			}
			return nil
		})
		hub.Apply(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}) // without a namespace
		if _, err := clientOf(t, hub).CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func clientOf(t *testing.T, cluster *sandboxtest.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// requireExpired checks whether the client certificate of a bootstrap kubeconfig has expired.
func requireExpired(t *testing.T, cluster *sandboxtest.Cluster, namespace string, want bool) {
	t.Helper()
	secret, err := clientOf(t, cluster).CoreV1().Secrets(namespace).Get(t.Context(), "bootstrap-hub-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(config.CertData)
	if block == nil {
		t.Fatalf("the bootstrap kubeconfig in %s has no client certificate", namespace)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := time.Now().After(certificate.NotAfter); got != want {
		t.Errorf("the bootstrap kubeconfig in %s is valid until %s, want an expired one: %t", namespace, certificate.NotAfter, want)
	}
}

// authority returns the fingerprint of the key that has signed the certificate of the cluster's API server.
func authority(t *testing.T, cluster *sandboxtest.Cluster) string {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the certificate is only looked at
	connection, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(cluster.Config().Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	return fmt.Sprintf("%x", connection.(*tls.Conn).ConnectionState().PeerCertificates[0].AuthorityKeyId)
}

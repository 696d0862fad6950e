package agent

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestNoLogLevelShowsSecrets: at the highest level that can be asked for the log
// has the agent's requests, and neither its private key nor its token.
func TestNoLogLevelShowsSecrets(t *testing.T) {
	const token = "token-that-no-log-may-have"
	s := newSite(t)
	data := s.good()
	replace(data, "client-key: tls.key}", "client-key: tls.key, token: "+token+"}")
	s.put(data)
	output := runtest.ProcessLogs(t)
	start(t, "--cluster-name=cluster1", "--namespace=default", "--v=10",
		"--kubeconfig="+runtest.Kubeconfig(t, s.managed),
		"--health-bind-address="+s.health, "--metrics-bind-address="+s.metrics)
	runtest.Eventually(t, "copied", func() bool { return s.copied("a") })
	s.source("b")
	runtest.Eventually(t, "another copy", func() bool { return s.copied("b") })
	klog.Flush()

	if !output.Contain("/namespaces/default/secrets") || !output.Contain("Lowered the log level") {
		t.Error("the log has no requests, or does not say that its level was lowered")
	}
	key := string(data["tls.key"])
	for name, secret := range map[string]string{
		"the token":              token,
		"the token, encoded":     base64.StdEncoding.EncodeToString([]byte(token))[:20],
		"the key":                strings.Split(key, "\n")[1],
		"the key, encoded":       base64.StdEncoding.EncodeToString(data["tls.key"]),
		"the kubeconfig encoded": base64.StdEncoding.EncodeToString(data["kubeconfig"]),
	} {
		if output.Contain(secret) {
			t.Errorf("the log has %s", name)
		}
	}
}

// TestNoLogLevelOfSingleFiles: by vmodule client-go's bodies could be logged all
// the same.
func TestNoLogLevelOfSingleFiles(t *testing.T) {
	command := NewCommand()
	command.SetArgs([]string{"--vmodule=request=10"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown flag: --vmodule") {
		t.Errorf("got %v", err)
	}
}

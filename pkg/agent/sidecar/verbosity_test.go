package sidecar

import (
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestNoLogLevelShowsSecrets: the log contains the sidecar's requests at the highest
// level, and never its private key.
func TestNoLogLevelShowsSecrets(t *testing.T) {
	s := newScene(t)
	s.period = 0
	data := s.data()
	s.put(data)
	output := runtest.ProcessLogs(t)
	s.start("-lease-namespace=cluster1", "-hub-kubeconfig-secret=creds", "-v=10")
	s.renews("with the credentials")
	s.put(s.data())
	s.renews("after a rotation")
	klog.Flush()

	if !output.Contain("/namespaces/addons/secrets") || !output.Contain("Lowered the log level") {
		t.Error("the log has no requests, or does not say that its level was lowered")
	}
	for name, secret := range map[string]string{
		"the key":                strings.Split(string(data["tls.key"]), "\n")[1],
		"the key, encoded":       base64.StdEncoding.EncodeToString(data["tls.key"]),
		"the kubeconfig encoded": base64.StdEncoding.EncodeToString(data["kubeconfig"]),
	} {
		if output.Contain(secret) {
			t.Errorf("the log has %s", name)
		}
	}
}

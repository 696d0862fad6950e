//go:build sandbox

package integration

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// anyAddon asks for credentials as an add-on's controller does, by its status.
const anyAddon = `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: any, namespace: cluster1}
spec: {installNamespace: default}
`

const anyRegistration = `{"status":{"namespace":"default","registrations":[{"signerName":"kubernetes.io/kube-apiserver-client",` +
	`"subject":{"user":"any","groups":["any"]}}]}}`

// TestAddonAuth checks that an add-on gets a token of its own ServiceAccount on
// the hub, and after a switch a certificate request, and a token again.
func TestAddonAuth(t *testing.T) {
	s := newSandbox(t)
	s.up("--clusters=1", "--addon-auth=token", "--addon-token-life=10m")
	s.apply("hub", anyAddon)
	s.must("hub", "patch", "managedclusteraddons.v1alpha1.addon.open-cluster-management.io", "any", "-n", "cluster1",
		"--subresource=status", "--type=merge", "-p", anyRegistration)

	const user = "system:serviceaccount:cluster1:any-agent"
	eventually(t, "the add-on has a token", func() error { return s.addonIs(user) })

	if requests := s.must("hub", "get", "csr", "-l", "open-cluster-management.io/addon-name=any", "-o", "name"); requests != "" {
		t.Errorf("with the token driver there are certificate requests: %s", requests)
	}
	s.addonAuth("csr")
	eventually(t, "the add-on asks for a certificate", func() error {
		if requests := s.must("hub", "get", "csr", "-l", "open-cluster-management.io/addon-name=any", "-o", "name"); requests == "" {
			return fmt.Errorf("no certificate request")
		}
		return nil
	})
	s.addonAuth("token")
	eventually(t, "the add-on has a token again", func() error { return s.addonIs(user) })
}

func (s *sandbox) addonAuth(driver string) {
	s.t.Helper()
	if out, err := s.run(s.t.Context(), "addon-auth", "cluster1", driver); err != nil {
		s.t.Fatalf("addon-auth: %v\n%s", err, out)
	}
	eventually(s.t, "the hub knows the driver "+driver, func() error {
		got := s.must("hub", "get", "managedclusteraddons.v1alpha1.addon.open-cluster-management.io", "any", "-n", "cluster1",
			"-o", "jsonpath={.status.kubeClientDriver}")
		if got != driver {
			return fmt.Errorf("the driver is %q", got)
		}
		return nil
	})
}

// addonIs returns an error unless the hub knows the bearer of the add-on's token
// as the user.
func (s *sandbox) addonIs(user string) error {
	encoded, err := s.kubectl("cluster1", "get", "secret", "any-hub-kubeconfig", "-n", "default", "-o", "jsonpath={.data.token}")
	if err != nil {
		return fmt.Errorf("%w: %s", err, encoded)
	}
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(token) == 0 {
		return errors.Join(fmt.Errorf("the Secret has no token: %q", encoded), err)
	}
	anonymous, err := s.anonymous("hub")
	if err != nil {
		return err
	}
	got, err := s.kubectl(anonymous, "auth", "whoami", "--token="+string(token), "-o", "jsonpath={.status.userInfo.username}")
	if err != nil || strings.TrimSpace(got) != user {
		return errors.Join(fmt.Errorf("the token is of %q, want %s", got, user), err)
	}
	return nil
}

// anonymous writes a kubeconfig of a cluster without credentials and returns its
// name for kubectl.
func (s *sandbox) anonymous(cluster string) (string, error) {
	server, err := s.kubectl(cluster, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, server)
	}
	name := "anonymous-" + cluster
	content := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server)
	return name, os.WriteFile(filepath.Join(s.dir, name+".kubeconfig"), []byte(content), 0o600)
}

package control

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// BootstrapOptions selects a bootstrap kubeconfig.
type BootstrapOptions struct {
	// Cluster is the managed cluster that joins, Hub the hub.
	Cluster, Hub string
	// ClusterIndex and HubIndex are their numbers in the sandbox.
	ClusterIndex, HubIndex int
	// Expired asks for a client certificate that has expired.
	Expired bool
	// Moved asks for the hub's other URL.
	Moved bool
}

// Bootstrap returns a kubeconfig with which a cluster can join a hub. It trusts the hub's
// present certificate authority, not the next one.
func Bootstrap(dir string, options BootstrapOptions) (*clientcmdapi.Config, error) {
	hubDir := filepath.Join(dir, options.Hub)
	authority, err := pki.LoadAuthority(controlplane.PKIDir(hubDir))
	if err != nil {
		return nil, err
	}
	sign, name := authority.Client, "bootstrap-"+options.Cluster
	if options.Expired {
		sign, name = authority.ExpiredClient, name+"-expired"
	}
	pair, err := sign(name, ocm.BootstrapUser)
	if err != nil {
		return nil, err
	}
	serving, err := servingAuthority(hubDir)
	if err != nil {
		return nil, err
	}
	server := "https://" + controlplane.Relay(options.ClusterIndex, options.HubIndex, options.Moved).String()
	return pki.Kubeconfig(options.Hub, server, serving.PEM(), pki.User{Pair: pair}), nil
}

// Bootstrap returns a kubeconfig with which a cluster of the sandbox can join a hub.
func (s *Sandbox) Bootstrap(options BootstrapOptions) (*clientcmdapi.Config, error) {
	var clusterErr, hubErr error
	options.ClusterIndex, clusterErr = s.cluster(options.Cluster)
	options.HubIndex, hubErr = s.hub(options.Hub)
	if err := errors.Join(clusterErr, hubErr); err != nil {
		return nil, err
	}
	return Bootstrap(s.dir, options)
}

// NewAuthority replaces the certificate of the hub's API server by one of its next
// authority; the server uses it within seconds. The hub's own programs and the kubeconfigs
// in the sandbox's directory trust that authority already. Clients that trust only the old
// one reject the server. Client certificates stay valid.
func (s *Sandbox) NewAuthority(hub string) error {
	if _, err := s.hub(hub); err != nil {
		return err
	}
	hubDir := filepath.Join(s.dir, hub)
	present, err := servingCertificate(hubDir)
	if err != nil {
		return err
	}
	next, err := pki.LoadAuthority(controlplane.NextPKIDir(hubDir))
	if err != nil {
		return err
	}
	if next.Signed(present) {
		return fmt.Errorf("%s uses its next authority already, and there is no further one", hub)
	}
	pair, err := next.ServingLike(controlplane.ServingName, present)
	if err != nil {
		return err
	}
	// Between the two writes they do not match, and the API server keeps the old pair.
	file := filepath.Join(controlplane.PKIDir(hubDir), controlplane.ServingName)
	if err := errors.Join(os.WriteFile(file+".key", pair.KeyPEM, 0o600), os.WriteFile(file+".crt", pair.CertPEM, 0o600)); err != nil {
		return fmt.Errorf("replace the API server's certificate: %w", err)
	}
	return nil
}

// servingAuthority returns the authority that signed the API server's certificate.
func servingAuthority(hubDir string) (*pki.Authority, error) {
	present, err := servingCertificate(hubDir)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{controlplane.PKIDir(hubDir), controlplane.NextPKIDir(hubDir)} {
		authority, err := pki.LoadAuthority(dir)
		if err != nil {
			return nil, err
		}
		if authority.Signed(present) {
			return authority, nil
		}
	}
	return nil, fmt.Errorf("no authority in %s has signed the API server's certificate", controlplane.PKIDir(hubDir))
}

func servingCertificate(hubDir string) (*x509.Certificate, error) {
	file := filepath.Join(controlplane.PKIDir(hubDir), controlplane.ServingName+".crt")
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the API server's certificate: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	return certificate, nil
}

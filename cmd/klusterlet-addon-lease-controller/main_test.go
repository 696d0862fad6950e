package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestTrustsPublicAuthorities runs the program's packages in a process without system
// roots, as in the image: the built-in roots verify a hub whose kubeconfig has no CA
// bundle.
func TestTrustsPublicAuthorities(t *testing.T) {
	const child = "TEST_WITHOUT_SYSTEM_ROOTS"
	if os.Getenv(child) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		again.Env = append(os.Environ(), child+"=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if output, err := again.CombinedOutput(); err != nil {
			t.Fatalf("without system roots: %v\n%s", err, output)
		}
		return
	}
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(x509.VerifyOptions{}); err != nil {
			t.Fatalf("%s is not trusted: %v", certificate.Subject, err)
		}
		return
	}
	t.Fatal("there is no public root to try")
}

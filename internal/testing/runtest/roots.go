package runtest

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TrustsPublicRoots checks that the program of the calling test trusts public
// certificate authorities without system roots, as in the image. It is for the tests
// of a main package, and runs the calling test again in such a process.
func TrustsPublicRoots(t *testing.T) {
	t.Helper()
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
	t.Fatal("the bundle has no root to try")
}

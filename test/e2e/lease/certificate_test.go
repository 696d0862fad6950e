//go:build e2e

package lease

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parsed returns the certificate of a PEM block.
func parsed(t *testing.T, certificate []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(certificate)
	if block == nil {
		t.Fatal("no PEM block")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	must(t, "parse the certificate", err)
	return parsed
}

// subjectOf returns the common name and the organizations of a certificate.
func subjectOf(t *testing.T, certificate []byte) pkix.Name {
	t.Helper()
	subject := parsed(t, certificate).Subject
	return pkix.Name{CommonName: subject.CommonName, Organization: subject.Organization}
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, "make a key", err)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, "encode the key", err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// issue has the hub sign a client certificate, with the shortest life there is.
func (e *environment) issue(t *testing.T, subject pkix.Name) (certificate, keyPEM []byte) {
	t.Helper()
	key, keyPEM := newKey(t)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	must(t, "make a certificate request", err)
	seconds := int32(600)
	requests := e.hub.kube.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-lease-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName, ExpirationSeconds: &seconds,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	must(t, "create the request", err)
	cleanup(t, "delete the request", func(ctx context.Context) error {
		return requests.Delete(ctx, request.Name, metav1.DeleteOptions{})
	})
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "by the test"})
	_, err = requests.UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{})
	must(t, "approve the request", err)
	eventually(t, "the certificate", func(ctx context.Context) error {
		got, err := requests.Get(ctx, request.Name, metav1.GetOptions{})
		if err == nil && len(got.Status.Certificate) == 0 {
			err = errNotYet
		}
		if err == nil {
			certificate = got.Status.Certificate
		}
		return err
	})
	return certificate, keyPEM
}

// expired returns a certificate without a user that expired an hour ago.
func expired(t *testing.T) (certificate, keyPEM []byte) {
	t.Helper()
	key, keyPEM := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, "make a certificate", err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM
}

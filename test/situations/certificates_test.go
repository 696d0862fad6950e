//go:build situations

package situations

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// ocmPrefix begins the user names and groups of OCM's agents on the hub.
const ocmPrefix = "system:open-cluster-management:"

// subject returns the subject of the certificate of a cluster's agent, as OCM has it.
func subject(cluster, agent string) pkix.Name {
	return pkix.Name{CommonName: ocmPrefix + cluster + ":" + agent,
		Organization: []string{ocmPrefix + cluster, ocmPrefix + "managed-clusters"}}
}

// pair is a client certificate and its private key, both as PEM.
type pair struct{ certificate, key []byte }

func newKey(t *testing.T) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, "generate a key", err)
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	must(t, "encode a key", err)
	return key, encoded
}

// issue lets the hub sign a client certificate, as its administrator. The request has
// none of OCM's labels, so OCM does not count it.
func (c *cluster) issue(t *testing.T, name pkix.Name) pair {
	t.Helper()
	key, encoded := newKey(t)
	request, err := cert.MakeCSR(key, &name, nil, nil)
	must(t, "make a certificate request", err)
	client := c.hub.CertificatesV1().CertificateSigningRequests()
	created, err := client.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "situations-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}},
	}, metav1.CreateOptions{})
	must(t, "create a certificate request", err)
	t.Cleanup(func() { _ = client.Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{}) })
	created.Status.Conditions = append(created.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "approved by the test"})
	_, err = client.UpdateApproval(t.Context(), created.Name, created, metav1.UpdateOptions{})
	must(t, "approve a certificate request", err)
	result := pair{key: encoded}
	eventually(t, "the hub signs a certificate", func(ctx context.Context) error {
		signed, err := client.Get(ctx, created.Name, metav1.GetOptions{})
		if err == nil && len(signed.Status.Certificate) == 0 {
			err = errors.New("there is no certificate yet")
		}
		if err == nil {
			result.certificate = signed.Status.Certificate
		}
		return err
	})
	return result
}

// selfSigned returns a certificate that no hub has signed. The registration agent does
// not check the issuer.
func selfSigned(t *testing.T, name pkix.Name, notAfter time.Time) pair {
	t.Helper()
	key, encoded := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: name, NotBefore: notAfter.Add(-time.Hour), NotAfter: notAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, "sign a certificate", err)
	return pair{certificate: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), key: encoded}
}

// certificate is the client certificate in a Secret of the cluster where the
// agents run: that of the cluster, or that of the add-on.
func (c *cluster) certificate(ctx context.Context, namespace, name string) (*x509.Certificate, error) {
	secret, err := c.home.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	if block == nil {
		return nil, fmt.Errorf("secret %s has no certificate", name)
	}
	return x509.ParseCertificate(block.Bytes)
}

// credentials are the certificates of the cluster and of the add-on.
func (c *cluster) credentials(t *testing.T) (ofCluster, ofAddOn *x509.Certificate) {
	t.Helper()
	ofCluster, err := c.certificate(t.Context(), c.klusterlet, hubSecret)
	must(t, "read the cluster's certificate", err)
	ofAddOn, err = c.certificate(t.Context(), c.install, agentSecret)
	must(t, "read the add-on's certificate", err)
	return ofCluster, ofAddOn
}

// reissued returns a check that the add-on has another certificate than that.
func (c *cluster) reissued(old *x509.Certificate) check {
	return func(ctx context.Context) error {
		now, err := c.certificate(ctx, c.install, agentSecret)
		if err == nil && bytes.Equal(now.Raw, old.Raw) {
			err = errors.New("the add-on has the same certificate")
		}
		return err
	}
}

// removeUsedRequests deletes the cluster's certificate requests: after ten of a
// cluster or of an add-on the registration agent asks for no more.
func (c *cluster) removeUsedRequests(t *testing.T) {
	t.Helper()
	must(t, "delete used certificate requests", c.hub.CertificatesV1().CertificateSigningRequests().DeleteCollection(
		t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: clusterNameLabel + "=" + c.name}))
}

// noRequest returns a check that no certificate was requested for the cluster or its
// add-on since now. Used requests of the add-on are deleted meanwhile.
func (c *cluster) noRequest(t *testing.T) check {
	t.Helper()
	list := func(ctx context.Context) (sets.Set[string], error) {
		found := sets.New[string]()
		list, err := c.hub.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{LabelSelector: clusterNameLabel + "=" + c.name})
		if err == nil {
			for i := range list.Items {
				found.Insert(list.Items[i].Name)
			}
		}
		return found, err
	}
	before, err := list(t.Context())
	must(t, "list certificate requests", err)
	return func(ctx context.Context) error {
		now, err := list(ctx)
		if further := now.Difference(before); err == nil && len(further) > 0 {
			err = fmt.Errorf("further certificate requests: %s", sets.List(further))
		}
		return err
	}
}

// asksAnew checks that the cluster has asked for a certificate with its bootstrap
// kubeconfig, and not with its hub kubeconfig, since its requests were last removed.
func (c *cluster) asksAnew(ctx context.Context) error {
	list, err := c.hub.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		LabelSelector: clusterNameLabel + "=" + c.name + ",!" + addonNameLabel + ",!" + plantedLabel})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if !strings.HasPrefix(list.Items[i].Spec.Username, ocmPrefix) {
			return nil
		}
	}
	return fmt.Errorf("none of the cluster's %d certificate requests is of the bootstrap kubeconfig's user", len(list.Items))
}

// validHubKubeconfig returns a check that the hub kubeconfig is complete, for this
// cluster and agent (or anyAgent), and leads to the hub of the bootstrap kubeconfig.
func (c *cluster) validHubKubeconfig(agent string, of bootstrap) check {
	return func(ctx context.Context) error {
		secrets := c.home.CoreV1().Secrets(c.klusterlet)
		secret, err := secrets.Get(ctx, hubSecret, metav1.GetOptions{})
		if err != nil {
			return err
		}
		joinWith, err := secrets.Get(ctx, of.secret, metav1.GetOptions{})
		if err != nil {
			return err
		}
		agent := agent
		if agent == anyAgent {
			agent = agentID(secret)
		}
		parsed, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			return err
		}
		if parsed.Leaf.Subject.CommonName != subject(c.name, agent).CommonName || expired(parsed.Leaf) == nil {
			return fmt.Errorf("the certificate is for %s until %s", parsed.Leaf.Subject.CommonName, parsed.Leaf.NotAfter)
		}
		if name, id := string(secret.Data["cluster-name"]), string(secret.Data["agent-name"]); name != c.name || id != agent {
			return fmt.Errorf("the hub kubeconfig is of cluster %q and agent %q", name, id)
		}
		want, err := addressOf(joinWith.Data["kubeconfig"])
		if err != nil {
			return err
		}
		got, err := addressOf(secret.Data["kubeconfig"])
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("the hub (-of the bootstrap kubeconfig +of the hub kubeconfig):\n%s", diff)
		}
		return nil
	}
}

// expired is nil when the certificate has expired.
func expired(certificate *x509.Certificate) error {
	if left := time.Until(certificate.NotAfter); left > 0 {
		return fmt.Errorf("%s lives for another %s", certificate.Subject.CommonName, left.Round(time.Second))
	}
	return nil
}

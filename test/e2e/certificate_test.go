//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The certificate in the agent's secret is the one that the cluster's
// registration agent asked for and the add-on's own controller approved, and
// it is issued to exactly the identity that the add-on registers. A new one is
// asked for, because the controller removes used requests.
func certificateIsApprovedAndUsed(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		secret := c.replaceSecret(t)
		request, err := env.requestOf(t.Context(), c, secret.Data[corev1.TLSCertKey])
		must(t, "find the request of the certificate in use", err)

		if prefix := "system:open-cluster-management:" + c.name + ":"; !strings.HasPrefix(request.Spec.Username, prefix) {
			t.Errorf("%s was asked for by %q, not by %s…", request.Name, request.Spec.Username, prefix)
		}
		if approver := approverOf(request); approver != controllerDeployment {
			t.Errorf("%s was approved by %q, want %q", request.Name, approver, controllerDeployment)
		}

		certificate, err := parseCertificate(secret.Data[corev1.TLSCertKey])
		must(t, "parse the certificate", err)
		if certificate.Subject.CommonName != agentUser(c.name) {
			t.Errorf("the certificate is for %q, want %q", certificate.Subject.CommonName, agentUser(c.name))
		}
		sorted := cmpopts.SortSlices(strings.Compare)
		want := []string{agentClusterGroup(c.name), agentSharedGroup}
		if diff := cmp.Diff(want, certificate.Subject.Organization, sorted); diff != "" {
			t.Errorf("the certificate's groups (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{dnsName}, certificate.DNSNames); diff != "" {
			t.Errorf("the certificate's DNS names (-want +got):\n%s", diff)
		}
	}
}

// losses is how often the agent's secret is lost: more often than the
// registration agent asks while the hub keeps the requests, which is ten times.
const losses = 12

// A secret that is lost again and again comes back each time, and the agent goes
// on with it: the controller removes the requests that are used.
func secretsComeBack(t *testing.T, env *environment) {
	c := env.first()
	start := time.Now()
	for range losses {
		c.replaceSecret(t)
	}
	timings.record(fmt.Sprintf("%s: the secret lost %d times → back each time", c.name, losses), time.Since(start))
	source := env.createSource(t, c, configMap("e2e-after-losses", map[string]string{"a": "b"}))
	eventually(t, "the copy", c.hasCopy(source))
	eventually(t, "the used requests are removed", func(ctx context.Context) error {
		requests, err := env.requestsOf(ctx, c)
		if err == nil && len(requests) > 0 {
			err = fmt.Errorf("%d requests of %s are there", len(requests), c.name)
		}
		return err
	})
}

// replaceSecret deletes the agent's secret and returns the one that comes after.
func (c *cluster) replaceSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	before, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)
	must(t, "delete the agent's secret",
		c.kube.CoreV1().Secrets(c.installNamespace).Delete(t.Context(), agentSecret, metav1.DeleteOptions{}))
	var after *corev1.Secret
	eventually(t, c.name+": the agent's secret is back", func(ctx context.Context) error {
		after, err = c.hubCredentials(ctx)
		if err == nil && after.UID == before.UID {
			err = fmt.Errorf("secret %s is the former one", agentSecret)
		}
		return err
	})
	return after
}

// requestsOf are the certificate requests of the cluster's agent.
func (e *environment) requestsOf(ctx context.Context, c *cluster) ([]certificatesv1.CertificateSigningRequest, error) {
	list, err := e.hub.kube.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		LabelSelector: clusterNameLabel + "=" + c.name + "," + addonNameLabel + "=" + addonName,
	})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// requestOf is the request that led to the certificate.
func (e *environment) requestOf(ctx context.Context, c *cluster, certificate []byte) (*certificatesv1.CertificateSigningRequest, error) {
	requests, err := e.requestsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	for i := range requests {
		if bytes.Equal(requests[i].Status.Certificate, certificate) {
			return &requests[i], nil
		}
	}
	return nil, fmt.Errorf("none of %d requests of %s has issued it", len(requests), c.name)
}

// approverOf is the program that wrote the approval, as the API server noted.
func approverOf(request *certificatesv1.CertificateSigningRequest) string {
	for _, entry := range request.ManagedFields {
		if entry.Subresource == "approval" {
			return entry.Manager
		}
	}
	return ""
}

// deleteUsedRequests deletes the requests that have issued a certificate.
func (e *environment) deleteUsedRequests(ctx context.Context, c *cluster) error {
	requests, err := e.requestsOf(ctx, c)
	if err != nil {
		return err
	}
	for i := range requests {
		if len(requests[i].Status.Certificate) == 0 {
			continue
		}
		err := e.hub.kube.CertificatesV1().CertificateSigningRequests().Delete(ctx, requests[i].Name, metav1.DeleteOptions{})
		if ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

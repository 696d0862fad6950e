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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The certificate in the agent's secret is the one that the cluster's
// registration agent asked for and the add-on's own controller approved, and
// it is issued to exactly the identity that the add-on registers.
func certificateIsApprovedAndUsed(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		secret, err := c.hubCredentials(t.Context())
		must(t, "get the agent's secret", err)
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

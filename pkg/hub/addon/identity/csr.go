package identity

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

var (
	oidCommonName     = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidOrganization   = asn1.ObjectIdentifier{2, 5, 4, 10}
	oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// tagDNSName is the context-specific tag of a dNSName in a GeneralName.
// https://datatracker.ietf.org/doc/html/rfc5280#section-4.2.1.6
const tagDNSName = 2

// clientUsages are the usages that OCM's registration agent requests, sorted.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/certificate.go
var clientUsages = []certificatesv1.KeyUsage{
	certificatesv1.UsageClientAuth,
	certificatesv1.UsageDigitalSignature,
	certificatesv1.UsageKeyEncipherment,
}

// CheckCSR returns nil when every part of the request is what the add-on asks the
// cluster's registration agent to request, and otherwise an error about the first
// part that differs. addon is the ManagedClusterAddOn of the cluster. The rules are
// in docs/design.md#csr.
//
// The subject is computed, not read from status.registrations: the managed cluster
// can write that status, and must not choose its own identity by it.
func CheckCSR(
	csr *certificatesv1.CertificateSigningRequest,
	cluster *clusterv1.ManagedCluster,
	addon *addonv1beta1.ManagedClusterAddOn,
) error {
	if addon.Name != manifests.AddonName || addon.Namespace != cluster.Name {
		return fmt.Errorf("add-on %s/%s is not %s/%s", addon.Namespace, addon.Name, cluster.Name, manifests.AddonName)
	}
	if !cluster.Spec.HubAcceptsClient {
		return errors.New("the cluster is not accepted by the hub")
	}
	if err := checkRequester(csr.Spec.Username, cluster.Name); err != nil {
		return err
	}
	if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return fmt.Errorf("signer is %q, not %q", csr.Spec.SignerName, certificatesv1.KubeAPIServerClientSignerName)
	}
	usages := slices.Clone(csr.Spec.Usages)
	slices.Sort(usages)
	if !slices.Equal(usages, clientUsages) {
		return fmt.Errorf("usages are %q, not %q", usages, clientUsages)
	}
	if err := checkRegistrations(addon, cluster.Name); err != nil {
		return err
	}
	return checkRequest(csr.Spec.Request, cluster.Name)
}

// checkRequester returns an error unless the user is a registration agent of the
// cluster: system:open-cluster-management:<cluster>:<agent id>. The agent id has no
// colon: the agents of add-ons are system:open-cluster-management:cluster:<cluster>:addon:…,
// and would otherwise pass as registration agents of a cluster named "cluster".
func checkRequester(username, clusterName string) error {
	prefix := "system:open-cluster-management:" + clusterName + ":"
	agentID, found := strings.CutPrefix(username, prefix)
	if !found || agentID == "" || strings.Contains(agentID, ":") {
		return fmt.Errorf("requester %q is not a registration agent of the cluster (%s<agent id>)", username, prefix)
	}
	return nil
}

// checkRegistrations returns an error when status.registrations is set and names
// neither the agent's user and groups nor its ServiceAccount. OCM's registration
// agent writes the ServiceAccount there while it uses tokens, and after a switch
// back to certificates it stays for a moment.
func checkRegistrations(addon *addonv1beta1.ManagedClusterAddOn, clusterName string) error {
	for _, registration := range addon.Status.Registrations {
		if registration.Type != addonv1beta1.KubeClient || registration.KubeClient == nil {
			continue
		}
		subject := registration.KubeClient.Subject
		if subject.User == "" && len(subject.Groups) == 0 {
			continue
		}
		certificate := subject.User == User(clusterName) && sameSet(subject.Groups, Groups(clusterName))
		token := subject.User == ServiceAccountUser(clusterName) && len(subject.Groups) == 0
		if !certificate && !token {
			return fmt.Errorf("status.registrations names the user %q and the groups %q, which the add-on did not ask for",
				subject.User, subject.Groups)
		}
	}
	return nil
}

// checkRequest checks the PKCS #10 request, which is PEM-encoded.
func checkRequest(request []byte, clusterName string) error {
	block, rest := pem.Decode(request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("request is not one PEM block of type CERTIFICATE REQUEST")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return fmt.Errorf("request cannot be parsed: %w", err)
	}
	if err := parsed.CheckSignature(); err != nil {
		return fmt.Errorf("request is not signed by its own key: %w", err)
	}
	if err := checkSubject(parsed, clusterName); err != nil {
		return err
	}
	return checkAlternativeNames(parsed)
}

// checkSubject returns an error unless the subject has the user as its one common
// name, the groups as organizations, and no other attribute.
func checkSubject(request *x509.CertificateRequest, clusterName string) error {
	if user := User(clusterName); request.Subject.CommonName != user {
		return fmt.Errorf("user is %q, not %q", request.Subject.CommonName, user)
	}
	if groups := Groups(clusterName); !sameSet(request.Subject.Organization, groups) {
		return fmt.Errorf("groups are %q, not %q", request.Subject.Organization, groups)
	}
	var commonNames int
	for _, attribute := range request.Subject.Names {
		switch {
		case attribute.Type.Equal(oidCommonName):
			commonNames++
		case !attribute.Type.Equal(oidOrganization):
			return fmt.Errorf("subject has the attribute %s besides user and groups", attribute.Type)
		}
	}
	if commonNames != 1 {
		return fmt.Errorf("subject has %d common names, not 1", commonNames)
	}
	return nil
}

// checkAlternativeNames returns an error unless the one DNS name is the only
// alternative name, and the only extension. It counts the general names itself,
// because crypto/x509 ignores the kinds that it does not know, for example otherName.
func checkAlternativeNames(request *x509.CertificateRequest) error {
	if len(request.IPAddresses) > 0 || len(request.EmailAddresses) > 0 || len(request.URIs) > 0 {
		return errors.New("request has an IP address, an email address or a URI as alternative name")
	}
	if !slices.Equal(request.DNSNames, []string{manifests.DNSName}) {
		return fmt.Errorf("DNS names are %q, not %q", request.DNSNames, manifests.DNSName)
	}
	if len(request.Extensions) != 1 || !request.Extensions[0].Id.Equal(oidSubjectAltName) {
		return fmt.Errorf("request has %d extensions, not the alternative name alone", len(request.Extensions))
	}
	var names []asn1.RawValue
	rest, err := asn1.Unmarshal(request.Extensions[0].Value, &names)
	if err != nil || len(rest) > 0 {
		return errors.New("alternative names cannot be parsed")
	}
	if len(names) != 1 || names[0].Class != asn1.ClassContextSpecific || names[0].Tag != tagDNSName {
		return fmt.Errorf("request has %d alternative names, not the DNS name alone", len(names))
	}
	return nil
}

// sameSet reports whether a has exactly the elements of b, in any order.
func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net"
	"net/url"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// csrCase is a request and the objects to check it against, which a test changes.
type csrCase struct {
	csr     *certificatesv1.CertificateSigningRequest
	cluster *clusterv1.ManagedCluster
	addon   *addonv1beta1.ManagedClusterAddOn
	request *x509.CertificateRequest
}

// goodCase returns the request that OCM's registration agent makes.
func goodCase(clusterName string) *csrCase {
	return &csrCase{
		csr: &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			Username:   "system:open-cluster-management:" + clusterName + ":agent1",
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		}},
		cluster: hubobjects.Cluster(clusterName),
		addon:   hubobjects.AddOn(clusterName, ""),
		request: &x509.CertificateRequest{
			Subject:  pkix.Name{CommonName: User(clusterName), Organization: Groups(clusterName)},
			DNSNames: []string{manifests.DNSName},
		},
	}
}

func registered(user string, groups ...string) addonv1beta1.RegistrationConfig {
	return addonv1beta1.RegistrationConfig{
		Type: addonv1beta1.KubeClient,
		KubeClient: &addonv1beta1.KubeClientConfig{Subject: addonv1beta1.KubeClientSubject{
			BaseSubject: addonv1beta1.BaseSubject{User: user, Groups: groups}}},
	}
}

// TestCheckCSR covers docs/design.md#csr.
func TestCheckCSR(t *testing.T) {
	tests := []struct {
		name   string
		reason string // why the request is approved or not
		change func(*csrCase)
		err    string
	}{
		{name: "good", reason: "exactly what was asked for", change: func(*csrCase) {}},
		{name: "just switched from tokens", reason: "status.registrations still has the ServiceAccount", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:serviceaccount:cluster1:helloworld-agent")}
		}},
		{name: "a ServiceAccount as user", reason: "tokens are no business of certificates", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:serviceaccount:cluster1:helloworld-agent")}
			c.request.Subject = pkix.Name{CommonName: "system:serviceaccount:cluster1:helloworld-agent"}
		}, err: "user is"},
		{name: "registered as another cluster's ServiceAccount", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:serviceaccount:cluster2:helloworld-agent")}
		}, err: "status.registrations"},
		{name: "registered as the ServiceAccount with groups", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{
				registered("system:serviceaccount:cluster1:helloworld-agent", "system:masters")}
		}, err: "status.registrations"},
		{name: "registered", reason: "status.registrations has the same subject", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered(User("cluster1"), Groups("cluster1")...)}
		}},
		{name: "registered without a subject", reason: "it names no subject", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{{Type: addonv1beta1.KubeClient}}
		}},
		{name: "order", reason: "groups and usages are sets", change: func(c *csrCase) {
			slices.Reverse(c.request.Subject.Organization)
			slices.Reverse(c.csr.Spec.Usages)
		}},

		{name: "cluster not accepted", reason: "the hub's administrator has not, or no longer, let it in",
			change: func(c *csrCase) { c.cluster.Spec.HubAcceptsClient = false }, err: "not accepted"},
		{name: "another add-on", reason: "not ours to approve",
			change: func(c *csrCase) { c.addon.Name = "other" }, err: "is not cluster1/helloworld"},
		{name: "another cluster's add-on", reason: "labels on a request are only hints",
			change: func(c *csrCase) { c.addon.Namespace = "cluster2" }, err: "is not cluster1/helloworld"},

		{name: "requester of another cluster", reason: "each cluster asks for its own agent only",
			change: func(c *csrCase) { c.csr.Spec.Username = "system:open-cluster-management:cluster2:agent1" }, err: "requester"},
		{name: "requester of a cluster whose name begins the same", reason: "cluster10 is no cluster1",
			change: func(c *csrCase) { c.csr.Spec.Username = "system:open-cluster-management:cluster10:agent1" }, err: "requester"},
		{name: "requester without an agent id", reason: "no registration agent has such a name",
			change: func(c *csrCase) { c.csr.Spec.Username = "system:open-cluster-management:cluster1:" }, err: "requester"},
		{name: "requester is a person", reason: "even an administrator's request is not the registration agent's",
			change: func(c *csrCase) { c.csr.Spec.Username = "kubernetes-admin" }, err: "requester"},

		{name: "another signer", reason: "a kubelet's certificate",
			change: func(c *csrCase) { c.csr.Spec.SignerName = certificatesv1.KubeAPIServerClientKubeletSignerName }, err: "signer"},
		{name: "one usage more", reason: "not asked for", change: func(c *csrCase) {
			c.csr.Spec.Usages = append(c.csr.Spec.Usages, certificatesv1.UsageServerAuth)
		}, err: "usages"},
		{name: "one usage less", reason: "not asked for", change: func(c *csrCase) { c.csr.Spec.Usages = c.csr.Spec.Usages[:2] }, err: "usages"},
		{name: "one usage twice", reason: "three, but not the three", change: func(c *csrCase) {
			c.csr.Spec.Usages[0] = c.csr.Spec.Usages[1]
		}, err: "usages"},

		{name: "another user", reason: "the agent of another cluster",
			change: func(c *csrCase) { c.request.Subject.CommonName = User("cluster2") }, err: "user is"},
		{name: "no user", reason: "not asked for", change: func(c *csrCase) { c.request.Subject.CommonName = "" }, err: "user is"},
		{name: "one group more", reason: "system:masters would be everything", change: func(c *csrCase) {
			c.request.Subject.Organization = append(c.request.Subject.Organization, "system:masters")
		}, err: "groups are"},
		{name: "one group less", reason: "not asked for",
			change: func(c *csrCase) { c.request.Subject.Organization = c.request.Subject.Organization[:1] }, err: "groups are"},
		{name: "one group twice", reason: "two, but not the two", change: func(c *csrCase) {
			c.request.Subject.Organization[0] = c.request.Subject.Organization[1]
		}, err: "groups are"},
		{name: "another attribute", reason: "some authorizers read organizational units",
			change: func(c *csrCase) { c.request.Subject.OrganizationalUnit = []string{"admins"} }, err: "attribute 2.5.4.11"},
		{name: "two common names", reason: "readers differ on which counts", change: func(c *csrCase) {
			c.request.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
				{Type: oidCommonName, Value: "system:admin"}, {Type: oidCommonName, Value: User("cluster1")},
				{Type: oidOrganization, Value: Groups("cluster1")[0]}, {Type: oidOrganization, Value: Groups("cluster1")[1]}}
		}, err: "2 common names"},

		{name: "no DNS name", reason: "not asked for", change: func(c *csrCase) { c.request.DNSNames = nil }, err: "DNS names"},
		{name: "another DNS name", reason: "another add-on's",
			change: func(c *csrCase) { c.request.DNSNames = []string{"other.addon.open-cluster-management.io"} }, err: "DNS names"},
		{name: "one DNS name more", reason: "not asked for",
			change: func(c *csrCase) { c.request.DNSNames = append(c.request.DNSNames, "kubernetes.default.svc") }, err: "DNS names"},
		{name: "an IP address", reason: "not asked for",
			change: func(c *csrCase) { c.request.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }, err: "IP address"},
		{name: "an email address", reason: "not asked for",
			change: func(c *csrCase) { c.request.EmailAddresses = []string{"root@example.com"} }, err: "email"},
		{name: "a URI", reason: "not asked for",
			change: func(c *csrCase) { c.request.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, err: "URI"},
		{name: "a registered ID as alternative name", reason: "crypto/x509 passes over it", change: func(c *csrCase) {
			c.request.ExtraExtensions = []pkix.Extension{{Id: oidSubjectAltName, Value: mustMarshal([]asn1.RawValue{
				{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte(manifests.DNSName)},
				{Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{42, 3}}})}}
		}, err: "2 alternative names"},
		{name: "another extension", reason: "to be a certificate authority", change: func(c *csrCase) {
			c.request.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}, err: "2 extensions"},

		{name: "status names another user", reason: "the managed cluster may write it", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:admin", Groups("cluster1")...)}
		}, err: "status.registrations"},
		{name: "status and request name another user", reason: "the managed cluster may not choose who it is", change: func(c *csrCase) {
			c.addon.Status.Registrations = []addonv1beta1.RegistrationConfig{registered("system:admin", "system:masters")}
			c.request.Subject = pkix.Name{CommonName: "system:admin", Organization: []string{"system:masters"}}
		}, err: "status.registrations"},
	}
	key := newKey(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := goodCase("cluster1")
			test.change(c)
			c.csr.Spec.Request = encode(t, c.request, key)
			hubobjects.CheckError(t, CheckCSR(c.csr, c.cluster, c.addon), test.err)
			if t.Failed() {
				t.Logf("reason: %s", test.reason)
			}
		})
	}
}

// TestCheckCSRClusterNamedCluster has a managed cluster whose name makes every
// add-on's agent of every cluster look like its registration agent.
func TestCheckCSRClusterNamedCluster(t *testing.T) {
	c := goodCase("cluster")
	c.csr.Spec.Request = encode(t, c.request, newKey(t))
	hubobjects.CheckError(t, CheckCSR(c.csr, c.cluster, c.addon), "")
	c.csr.Spec.Username = User("cluster2")
	hubobjects.CheckError(t, CheckCSR(c.csr, c.cluster, c.addon), "requester")
}

func TestCheckCSRRequestBytes(t *testing.T) {
	key := newKey(t)
	good := encode(t, goodCase("cluster1").request, key)
	block, _ := pem.Decode(good)
	forged := slices.Clone(block.Bytes)
	forged[len(forged)-1] ^= 1
	tests := []struct {
		name    string
		request []byte
		err     string
	}{
		{"empty", nil, "not one PEM block"},
		{"no PEM", []byte("hello"), "not one PEM block"},
		{"another type", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}), "not one PEM block"},
		{"two blocks", append(slices.Clone(good), good...), "not one PEM block"},
		{"white space after the block", append(slices.Clone(good), '\n', ' '), ""},
		{"garbage in the block", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte{1, 2}}), "cannot be parsed"},
		{"forged signature", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: forged}), "not signed by its own key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := goodCase("cluster1")
			c.csr.Spec.Request = test.request
			hubobjects.CheckError(t, CheckCSR(c.csr, c.cluster, c.addon), test.err)
		})
	}
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(t testing.TB, request *x509.CertificateRequest, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, request, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func mustMarshal(value any) []byte {
	der, err := asn1.Marshal(value)
	if err != nil {
		panic(err)
	}
	return der
}

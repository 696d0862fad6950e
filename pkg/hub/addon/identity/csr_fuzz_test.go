package identity

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// FuzzCSRCheck builds requests of any content for any cluster: an approved one
// never has another user, group, name, signer, usage or requester than the one
// that the add-on asked for.
func FuzzCSRCheck(f *testing.F) {
	key := newKey(f)
	good := strings.Join(Groups("cluster1"), "\n")
	usages := strings.Join([]string{"digital signature", "key encipherment", "client auth"}, "\n")
	seed := func(cluster, username, user, groups, unit, dns, email, usages, signer string) {
		f.Add(cluster, username, user, groups, unit, dns, email, usages, signer)
	}
	const requester, signer = "system:open-cluster-management:cluster1:a", certificatesv1.KubeAPIServerClientSignerName
	seed("cluster1", requester, User("cluster1"), good, "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester, User("cluster1"), good+"\nsystem:masters", "", manifests.DNSName, "", usages, signer)
	seed("cluster", User("cluster2"), User("cluster"), strings.Join(Groups("cluster"), "\n"), "", manifests.DNSName, "", usages, signer)
	seed("cluster1", "system:open-cluster-management:cluster10:a", User("cluster1"), good, "x", "a\nb", "e@x", usages+"\nserver auth", "x/y")
	// Nearly right: the order and repetition of groups, an agent id with a colon,
	// none, another cluster whose name begins alike, a second DNS name, the
	// bootstrap's signer.
	groups := Groups("cluster1")
	seed("cluster1", requester, User("cluster1"), groups[1]+"\n"+groups[0], "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester, User("cluster1"), good+"\n"+groups[0], "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester, User("cluster1"), groups[1], "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester+":b", User("cluster1"), good, "", manifests.DNSName, "", usages, signer)
	seed("cluster1", "system:open-cluster-management:cluster1:", User("cluster1"), good, "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester, User("cluster10"), good, "", manifests.DNSName, "", usages, signer)
	seed("cluster1", requester, User("cluster1"), good, "", manifests.DNSName+"\nb", "", usages, signer)
	seed("cluster1", requester, User("cluster1"), good, "", manifests.DNSName, "", usages, certificatesv1.KubeAPIServerClientKubeletSignerName)
	seed("", "system:open-cluster-management::a", User(""), "", "", "", "", "", "")

	f.Fuzz(func(t *testing.T, cluster, username, user, groups, unit, dns, email, usages, signer string) {
		c := goodCase(cluster)
		c.request = &x509.CertificateRequest{
			Subject:        pkix.Name{CommonName: user, Organization: lines(groups), OrganizationalUnit: lines(unit)},
			DNSNames:       lines(dns),
			EmailAddresses: lines(email),
		}
		der, err := x509.CreateCertificateRequest(zeroReader{}, c.request, key)
		if err != nil {
			return // Not every string can be in a request.
		}
		c.csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
		c.csr.Spec.Username, c.csr.Spec.SignerName, c.csr.Spec.Usages = username, signer, nil
		for _, usage := range lines(usages) {
			c.csr.Spec.Usages = append(c.csr.Spec.Usages, certificatesv1.KeyUsage(usage))
		}
		approved := CheckCSR(c.csr, c.cluster, c.addon) == nil
		agentID, ours := strings.CutPrefix(username, "system:open-cluster-management:"+cluster+":")
		wanted := ours && agentID != "" && !strings.Contains(agentID, ":") &&
			user == User(cluster) && asSet(lines(groups)) == asSet(Groups(cluster)) &&
			unit == "" && dns == manifests.DNSName && email == "" &&
			signer == certificatesv1.KubeAPIServerClientSignerName &&
			asSet(lines(usages)) == asSet([]string{"digital signature", "key encipherment", "client auth"})
		if approved && !wanted {
			t.Errorf("approved %+v requested by %q with signer %q and usages %q", c.request, username, signer, usages)
		}
		if !approved && wanted {
			t.Errorf("did not approve the request that the add-on asks for, of cluster %q: %v", cluster, CheckCSR(c.csr, c.cluster, c.addon))
		}
	})
}

// FuzzCSRRequestBytes feeds bytes that need not be a request: none but one of
// the right content is approved, and nothing panics.
func FuzzCSRRequestBytes(f *testing.F) {
	good := encode(f, goodCase("cluster1").request, newKey(f))
	f.Add(good)
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, request []byte) {
		c := goodCase("cluster1")
		c.csr.Spec.Request = request
		if CheckCSR(c.csr, c.cluster, c.addon) != nil {
			return
		}
		block, _ := pem.Decode(request)
		parsed, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil || parsed.Subject.CommonName != User("cluster1") ||
			asSet(parsed.Subject.Organization) != asSet(Groups("cluster1")) ||
			len(parsed.DNSNames) != 1 || parsed.DNSNames[0] != manifests.DNSName {
			t.Errorf("approved %q", request)
		}
	})
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// asSet is the same for two lists with the same elements, however ordered.
func asSet(list []string) string {
	counts := map[string]int{}
	for _, element := range list {
		counts[element]++
	}
	sorted := make([]string, 0, len(counts))
	for element, count := range counts {
		sorted = append(sorted, element+"\x00"+strings.Repeat("+", count))
	}
	slices.Sort(sorted)
	return strings.Join(sorted, "\n")
}

// zeroReader is a source of no randomness, so that a failure can be repeated.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

package registration

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// at formats a time for messages.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// named returns the finding if the cluster's name is none that the agent accepts.
func (j *judge) named() *Finding {
	name := j.names.cluster
	if name.generated || len(validation.IsDNS1123Label(name.value)) == 0 {
		return nil
	}
	if j.ClusterName == "" {
		return j.found(NameInvalid, fmt.Sprintf("has the cluster-name %q; it should be a name of a namespace", name.value))
	}
	return &Finding{Condition: NameInvalid, Object: "klusterlet " + j.Klusterlet,
		Message: fmt.Sprintf("has the clusterName %q; it should be a name of a namespace", name.value)}
}

// found returns a finding about the hub kubeconfig's Secret.
func (j *judge) found(condition Condition, message string) *Finding {
	return &Finding{Condition: condition, Object: j.object(j.Hub), Message: message}
}

// parsed returns the finding if the hub kubeconfig is missing or invalid. Otherwise it
// sets j.hub.
func (j *judge) parsed() *Finding {
	const should = "; it should have the one that the agent writes there once the hub has signed its certificate"
	raw, ok := j.Hub.Data[kubeconfigKey]
	switch {
	case !j.Hub.Exists:
		return j.found(KubeconfigMissing, "does not exist; the agent creates it once the hub has signed its certificate")
	case !ok:
		return j.found(KubeconfigMissing, "has no key kubeconfig"+should)
	}
	config, ok := parse(raw)
	if !ok {
		return j.found(KubeconfigInvalid, "has a kubeconfig that does not parse"+should)
	}
	var missing string
	if j.hub, missing = current(config, j.Hub.Data); missing != "" {
		return j.found(KubeconfigInvalid, "has a kubeconfig "+missing+should)
	}
	return nil
}

// compared returns what differs between the hub kubeconfig and a bootstrap kubeconfig.
func (j *judge) compared(with *bootstrap) []Finding {
	has, should := j.hub.cluster, with.config.cluster
	var differences []Finding
	differ := func(condition Condition, field, has, should string) {
		differences = append(differences, *j.found(condition, fmt.Sprintf(
			"has the %s %s in its kubeconfig; it should be as in the bootstrap kubeconfig (%s): %s", field, has, j.object(with.Secret), should)))
	}
	if has.Server != should.Server {
		differ(ServerDiffers, "server", redacted(has.Server), redacted(should.Server))
	}
	if has.ProxyURL != should.ProxyURL {
		differ(ProxyDiffers, "proxy-url", redacted(has.ProxyURL), redacted(should.ProxyURL))
	}
	if differsCA(has, should) {
		differ(CADiffers, "CA bundle", caBundle(has), caBundle(should))
	}
	if j.hub.context.Cluster != with.config.context.Cluster {
		differ(ClusterDiffers, "cluster name", fmt.Sprintf("%q", j.hub.context.Cluster), fmt.Sprintf("%q", with.config.context.Cluster))
	}
	return differences
}

// differsCA compares as OCM does: a file with other data, and an empty bundle with an
// absent one.
func differsCA(a, b *clientcmdapi.Cluster) bool {
	return a.CertificateAuthority != b.CertificateAuthority ||
		!reflect.DeepEqual(a.CertificateAuthorityData, b.CertificateAuthorityData)
}

// credentials returns what is wrong with the certificate, or the token.
func (j *judge) credentials() []Finding {
	if j.Driver == Token {
		if condition, message := j.token(); condition != "" {
			return []Finding{*j.found(condition, message)}
		}
		return nil
	}
	var failed []Finding
	if _, ok := j.Hub.Data[keyKey]; !ok {
		failed = append(failed, *j.found(KeyMissing, "has no key tls.key; it should be the private key of tls.crt"))
	}
	return append(failed, j.certificate()...)
}

func (j *judge) certificate() []Finding {
	data, ok := j.Hub.Data[certificateKey]
	if !ok {
		return []Finding{*j.found(CertificateMissing, "has no key tls.crt; it should be a certificate for "+j.names.String())}
	}
	found, ok := parseChain(data)
	if !ok {
		return []Finding{*j.found(CertificateInvalid, "has a tls.crt that is no certificate; it should be one for "+j.names.String())}
	}
	var failed []Finding
	cluster, agent := found.issuedFor()
	if j.names.given() && !(j.names.cluster.is(cluster) && j.names.agent.is(agent)) {
		failed = append(failed, *j.found(CertificateForOther, fmt.Sprintf("has a tls.crt for %s; it should be for %s",
			issuedFor(found, cluster, agent), j.names)))
	}
	if found.expired(j.Now) {
		failed = append(failed, *j.found(CertificateExpired, fmt.Sprintf("has a tls.crt that expired at %s; it is %s", at(found.notAfter()), at(j.Now))))
	}
	return failed
}

func issuedFor(found chain, cluster, agent string) string {
	if cluster == "" && agent == "" {
		return fmt.Sprintf("the user %q, who is no registration agent", found[0].Subject.CommonName)
	}
	return fmt.Sprintf("cluster %q and agent %q", cluster, agent)
}

func (n names) given() bool { return n.cluster.given() && n.agent.given() }

func (n names) String() string {
	return fmt.Sprintf("cluster %s and agent %s", n.cluster, n.agent)
}

func (j *judge) token() (Condition, string) {
	data, ok := j.Hub.Data[tokenKey]
	if !ok || len(data) == 0 {
		return TokenMissing, "has no token"
	}
	found, flaw := parseToken(data)
	if flaw != "" {
		return TokenInvalid, "has a token that " + flaw
	}
	uid := found.Kubernetes.ServiceAccount.UID
	life := left(found.issued(), found.expires(), j.Now)
	switch {
	case j.ServiceAccountUID != "" && uid != j.ServiceAccountUID:
		return TokenForOther, fmt.Sprintf("has a token for the ServiceAccount with the UID %q; it should be for %q", uid, j.ServiceAccountUID)
	case found.expires().Before(j.Now):
		return TokenExpired, fmt.Sprintf("has a token that expired at %s", at(found.expires()))
	case !found.expires().After(found.issued()):
		return TokenInvalid, "has a token that expires before it is issued"
	case life <= renewsAlways:
		return TokenExpiring, fmt.Sprintf("has a token that expires at %s, with %.0f %% of its life left; OCM takes 20 %% or less for invalid",
			at(found.expires()), 100*life)
	default:
		return "", ""
	}
}

// request returns why the agent requests other credentials, or is empty if it does not.
// It asks that of the Secret, and not of the files that OCM's check reads. In between
// renewsAlways and renewsFrom it requests them at one of its next checks. See
// shouldCreateCSR in
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go
func (j *judge) request(with *bootstrap) string {
	if j.Driver == Token {
		condition, message := j.token()
		if condition == "" {
			return ""
		}
		return message
	}
	found, ok := parseChain(j.Hub.Data[certificateKey])
	switch {
	case !ok:
		return "has no certificate"
	case found.expired(j.Now):
		return "has a certificate that has expired"
	case !found.hasSubject(j.names):
		return "has a certificate with another user or other groups than " + j.names.String() + " has"
	}
	if key := j.changed(with); key != "" {
		return "has another " + key + " than the agent writes"
	}
	if life := left(found.notBefore(), found.notAfter(), j.Now); !(life > renewsAlways) {
		return fmt.Sprintf("has a certificate with %.0f %% of its life left", 100*life)
	}
	return ""
}

// changed returns the first key of the Secret whose value is not the one that the agent
// writes, or an empty name.
func (j *judge) changed(with *bootstrap) string {
	expected, err := with.config.expected(j.Driver)
	switch data := j.Hub.Data; {
	case err != nil || string(data[kubeconfigKey]) != string(expected):
		return kubeconfigKey
	case !writes(j.names.cluster, data, clusterNameKey):
		return clusterNameKey
	case !writes(j.names.agent, data, agentNameKey):
		return agentNameKey
	default:
		return ""
	}
}

// writes reports whether the agent would write the value that key has. It writes no empty
// name.
func writes(n name, data map[string][]byte, key string) bool {
	value, ok := data[key]
	return !n.generated && (n.value == "" || ok && string(value) == n.value)
}

// overlooked returns what is wrong with a hub kubeconfig that OCM's check finds valid.
func (j *judge) overlooked() []Finding {
	var findings []Finding
	if flaw := j.hub.clientFlaw(); flaw != "" {
		findings = append(findings, *j.found(ClientInvalid, "has a kubeconfig "+flaw))
	}
	if j.hub.anonymous() {
		findings = append(findings, *j.found(LoginMissing, "has a kubeconfig whose user has no credentials"))
	}
	if j.Driver == Token {
		return findings
	}
	data := j.Hub.Data
	if !keyFits(data[certificateKey], data[keyKey]) {
		findings = append(findings, *j.found(KeyMismatch, "has a tls.key that is not the private key of the first certificate in tls.crt"))
	}
	if found, ok := parseChain(data[certificateKey]); ok && j.Now.Before(found.notBefore()) {
		findings = append(findings, *j.found(CertificateTooEarly, fmt.Sprintf("has a tls.crt that is not valid before %s; it is %s",
			at(found.notBefore()), at(j.Now))))
	}
	return findings
}

// object names a Secret of the agent in messages.
func (j *judge) object(secret Secret) string {
	return strings.Join([]string{"secret ", j.Namespace, "/", secret.Name}, "")
}

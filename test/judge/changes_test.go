package judge

import (
	"bytes"
	"slices"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// change is something that a case has.
type change struct {
	name string
	make func(*sample)
	// between reports whether OCM decides at random whether it requests a certificate.
	between bool
}

// Variants change a sample in ways that leave the hub kubeconfig valid.
var variants = []change{
	{name: "no flag for the cluster's name", make: func(s *sample) { s.clusterFlag = "" }},
	{name: "a flag for the agent's name", make: func(s *sample) { s.agentFlag = agentName }},
	{name: "a proxy", make: func(s *sample) { s.bootstrap.cluster.ProxyURL = "http://proxy:3128" }},
	{name: "no CA bundle", make: func(s *sample) { s.bootstrap.cluster.CertificateAuthorityData = nil }},
	{name: "a CA bundle in a file", make: func(s *sample) {
		s.bootstrap.cluster.CertificateAuthority, s.bootstrap.cluster.CertificateAuthorityData = "ca.crt", nil
		s.bootstrapData["ca.crt"], s.data["ca.crt"] = s.keys.ca[0], s.keys.ca[0]
	}},
	{name: "a cluster of another name in both", make: func(s *sample) { s.bootstrap.clusterName = "another" }},
	{name: "two certificates", make: func(s *sample) {
		s.certificates = append(s.certificates, certificate{name: "signer", from: -48 * time.Hour, to: 48 * time.Hour})
	}},
	{name: "a signer before the certificate", make: func(s *sample) {
		s.certificates = append([]certificate{{name: "signer", from: -48 * time.Hour, to: 48 * time.Hour}}, s.certificates...)
	}},
	{name: "a block that is no certificate", make: func(s *sample) { s.rawChange(appendTo("tls.crt", s.keys.pem[0])) }},
	{name: "text before the certificate", make: func(s *sample) { s.rawChange(prepend("tls.crt", []byte("subject: agent\n"))) }},
	{name: "the key of another certificate", make: func(s *sample) { s.data["tls.key"] = s.keys.pem[1] }},
	{name: "an empty key", make: set("tls.key", "")},
	{name: "a key that is none", make: set("tls.key", "garbage")},
	{name: "not valid yet", make: life(time.Hour, 48*time.Hour)},
	{name: "a tenth of its life left", make: life(-9*time.Hour, time.Hour)},
	{name: "between a fifth and a quarter of its life left", between: true, make: life(-78*time.Hour, 22*time.Hour)},
	{name: "just more than a quarter of its life left", make: life(-74*time.Hour, 26*time.Hour)},
	{name: "ends before it begins", make: life(2*time.Hour, time.Hour)},
	{name: "another group", make: eachCertificate(func(c *certificate) { c.groups = append(c.groups, "system:masters") })},
	{name: "a group less", make: eachCertificate(func(c *certificate) { c.groups = c.groups[:0] })},
	{name: "an organizational unit", make: eachCertificate(func(c *certificate) { c.units = []string{"unit"} })},
	{name: "no cluster-name", make: without("cluster-name")},
	{name: "another cluster-name", make: set("cluster-name", "cluster2")},
	{name: "a kubeconfig with a comment", make: func(s *sample) { s.rawChange(appendTo("kubeconfig", []byte("# changed\n"))) }},
	{name: "a kubeconfig with another namespace", make: inHub(func(c *clientcmdapi.Config) {
		for _, context := range c.Contexts {
			context.Namespace = "default"
		}
	})},
	{name: "a kubeconfig without its user", make: inHub(func(c *clientcmdapi.Config) { c.AuthInfos = nil })},
	{name: "a kubeconfig whose key is another file", make: inHub(func(c *clientcmdapi.Config) {
		for _, login := range c.AuthInfos {
			login.ClientKey = "other.key"
		}
	})},
	{name: "a bootstrap token that expired", make: bootstrapToken(-time.Minute)},
	{name: "a bootstrap token", make: bootstrapToken(time.Hour)},
	{name: "a bootstrap certificate that expired", make: bootstrapCertificate(-time.Minute)},
	{name: "a bootstrap certificate", make: bootstrapCertificate(time.Hour)},
	{name: "a bootstrap certificate without its key", make: func(s *sample) {
		bootstrapCertificate(time.Hour)(s)
		s.bootstrapData["client.key"] = nil
	}},
	{name: "a bootstrap kubeconfig that names a certificate and no key", make: func(s *sample) {
		bootstrapCertificate(time.Hour)(s)
		s.bootstrap.user.ClientKey = ""
	}},
	{name: "a bootstrap kubeconfig that contains a certificate and its key", make: bootstrapInline(0)},
	{name: "a bootstrap kubeconfig that contains a certificate and another key", make: bootstrapInline(1)},
	{name: "a bootstrap kubeconfig without a user", make: func(s *sample) { s.bootstrap.noUser = true }},
	{name: "a CA bundle that is none", make: func(s *sample) { s.bootstrap.cluster.CertificateAuthorityData = []byte("garbage") }},
	{name: "no server", make: func(s *sample) { s.bootstrap.cluster.Server = "" }},
	{name: "a context without a name", make: func(s *sample) { s.bootstrap.contextName = "" }},
	{name: "the token of another ServiceAccount in the same life", make: func(s *sample) { s.token["sub"] = "system:serviceaccount:cluster2:default" }},
	{name: "just more than a fifth of the token's life left", make: tokenLife(-78*time.Hour, 22*time.Hour)},
}

// failure is a change that makes the hub kubeconfig invalid: by this condition, or, where
// it is empty, by the bootstrap kubeconfig.
type failure struct {
	change
	condition registration.Condition
	driver    registration.Driver
}

// failures are for both drivers where driver is empty.
var failures = []failure{
	failing(registration.NameInvalid, "a cluster's name that is none", func(s *sample) {
		s.clusterFlag = "Cluster_1"
		named(user + "Cluster_1:" + agentName)(s)
	}),
	failing(registration.NameInvalid, "an empty cluster's name", func(s *sample) { s.clusterFlag, s.data["cluster-name"] = "", []byte{} }),
	failing(registration.KubeconfigMissing, "no Secret", func(s *sample) { s.noHub = true }),
	failing(registration.KubeconfigMissing, "no kubeconfig", without("kubeconfig")),
	failing(registration.KubeconfigInvalid, "a kubeconfig that does not parse", set("kubeconfig", "[")),
	failing(registration.KubeconfigInvalid, "a kubeconfig of another kind", set("kubeconfig", "apiVersion: v1\nkind: Secret\n")),
	failing(registration.KubeconfigInvalid, "an empty kubeconfig", set("kubeconfig", "")),
	failing(registration.KubeconfigInvalid, "half a kubeconfig", func(s *sample) {
		s.rawChange(func(data map[string][]byte) { data["kubeconfig"] = data["kubeconfig"][:len(data["kubeconfig"])/2] })
	}),
	failing(registration.KubeconfigInvalid, "no current context", inHub(func(c *clientcmdapi.Config) { c.CurrentContext = "" })),
	failing(registration.KubeconfigInvalid, "another current context", inHub(func(c *clientcmdapi.Config) { c.CurrentContext = "x" })),
	failing(registration.KubeconfigInvalid, "no cluster", inHub(func(c *clientcmdapi.Config) { c.Clusters = nil })),
	failing(registration.ServerDiffers, "another server", inCluster(func(c *clientcmdapi.Cluster) { c.Server = "https://hub2.example.com:6443" })),
	failing(registration.ServerDiffers, "a server with a slash more", inCluster(func(c *clientcmdapi.Cluster) { c.Server += "/" })),
	failing(registration.ProxyDiffers, "another proxy", inCluster(func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://proxy2:3128" })),
	failing(registration.CADiffers, "another CA bundle", func(s *sample) {
		inCluster(func(c *clientcmdapi.Cluster) { c.CertificateAuthorityData = s.keys.ca[1] })(s)
	}),
	failing(registration.CADiffers, "a CA bundle with one more", inCluster(func(c *clientcmdapi.Cluster) {
		c.CertificateAuthorityData = slices.Concat(c.CertificateAuthorityData, []byte("\n"))
	})),
	failing(registration.CADiffers, "the CA bundle in a file", func(s *sample) {
		s.data["other.crt"] = s.keys.ca[0]
		inCluster(func(c *clientcmdapi.Cluster) { c.CertificateAuthority, c.CertificateAuthorityData = "other.crt", nil })(s)
	}),
	failing(registration.CADiffers, "an empty CA bundle instead of none", func(s *sample) {
		s.bootstrap.cluster.CertificateAuthority, s.bootstrap.cluster.CertificateAuthorityData = "", nil
		s.rawChange(func(data map[string][]byte) {
			data["kubeconfig"] = bytes.Replace(data["kubeconfig"], []byte("- cluster:\n"), []byte("- cluster:\n    certificate-authority-data: \"\"\n"), 1)
		})
	}),
	failing(registration.ClusterDiffers, "another cluster in the kubeconfig", inHub(func(c *clientcmdapi.Config) {
		context := c.Contexts["default-context"]
		if cluster, ok := c.Clusters[context.Cluster]; ok {
			c.Clusters = map[string]*clientcmdapi.Cluster{"another": cluster}
		}
		context.Cluster = "another"
	})),
	ofCSR(registration.KeyMissing, "no key", without("tls.key")),
	ofCSR(registration.CertificateMissing, "no certificate", without("tls.crt")),
	ofCSR(registration.CertificateInvalid, "an empty certificate", set("tls.crt", "")),
	ofCSR(registration.CertificateInvalid, "a certificate that is none", set("tls.crt", "garbage")),
	ofCSR(registration.CertificateInvalid, "a certificate with damaged content", set("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")),
	ofCSR(registration.CertificateInvalid, "a certificate with a header", eachCertificate(func(c *certificate) { c.headers = true })),
	ofCSR(registration.CertificateForOther, "another cluster", named(user+"cluster2:"+agentName)),
	ofCSR(registration.CertificateForOther, "a cluster whose name begins alike", named(user+clusterName+"0:"+agentName)),
	ofCSR(registration.CertificateForOther, "another agent", named(user+clusterName+":agent2")),
	ofCSR(registration.CertificateForOther, "no agent of OCM's", named("kubernetes-admin")),
	ofCSR(registration.CertificateForOther, "no agent's name", named(user+clusterName)),
	ofCSR(registration.CertificateForOther, "the user of an add-on's agent", named(user+"cluster:"+clusterName+":addon:helloworld:agent:"+agentName)),
	ofCSR(registration.CertificateForOther, "a certificate of another agent before it", func(s *sample) {
		c := agentCertificate()
		c.name = user + clusterName + ":agent2"
		s.certificates = append([]certificate{c}, s.certificates...)
	}),
	ofCSR(registration.CertificateForOther, "another agent's flag", func(s *sample) { s.agentFlag = "agent2" }),
	ofCSR(registration.CertificateForOther, "no agent-name", func(s *sample) {
		s.agentFlag = ""
		without("agent-name")(s)
	}),
	ofCSR(registration.CertificateForOther, "another agent-name", func(s *sample) {
		s.agentFlag = ""
		set("agent-name", "agent2")(s)
	}),
	ofCSR(registration.CertificateForOther, "another cluster's flag", func(s *sample) { s.clusterFlag = "cluster2" }),
	ofCSR(registration.CertificateExpired, "expired", life(-2*time.Hour, -time.Hour)),
	ofCSR(registration.CertificateExpired, "a signer that expired", func(s *sample) {
		s.certificates = append(s.certificates, certificate{name: "signer", from: -48 * time.Hour, to: -time.Hour})
	}),
	ofToken(registration.TokenMissing, "no token", without("token")),
	ofToken(registration.TokenMissing, "an empty token", set("token", "")),
	ofToken(registration.TokenInvalid, "a token that is none", set("token", "opaque")),
	ofToken(registration.TokenInvalid, "a token with a payload that is none", set("token", "a.!.b")),
	ofToken(registration.TokenInvalid, "a token without claims", set("token", "e30.W10.c2ln")),
	ofToken(registration.TokenInvalid, "a token without an end", func(s *sample) { delete(s.token, "exp") }),
	ofToken(registration.TokenInvalid, "a token without a time of issue", func(s *sample) { delete(s.token, "iat") }),
	ofToken(registration.TokenInvalid, "a token that ends before it begins", tokenLife(2*time.Hour, time.Hour)),
	ofToken(registration.TokenForOther, "a token of another ServiceAccount", func(s *sample) {
		s.token["kubernetes.io"] = map[string]any{"serviceaccount": map[string]any{"uid": "b7c6"}}
	}),
	ofToken(registration.TokenExpired, "a token that expired", tokenLife(-2*time.Hour, -time.Hour)),
	ofToken(registration.TokenExpiring, "a tenth of the token's life left", tokenLife(-9*time.Hour, time.Hour)),
	failing("", "a bootstrap kubeconfig that does not parse", setBootstrap("[")),
	failing("", "an empty bootstrap kubeconfig", setBootstrap("")),
	failing("", "no bootstrap kubeconfig in the Secret", func(s *sample) { s.bootstrapData["kubeconfig"] = nil }),
	failing("", "a bootstrap kubeconfig without a context", setBootstrap("apiVersion: v1\nkind: Config\ncurrent-context: a\n")),
	failing("", "a bootstrap kubeconfig without a cluster", setBootstrap(
		"apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\n")),
	failing("", "a bootstrap kubeconfig with a context twice", setBootstrap(
		"apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: b}}, {name: a, context: {cluster: b}}]\n")),
}

func failing(condition registration.Condition, name string, make func(*sample)) failure {
	return failure{change: change{name: name, make: make}, condition: condition}
}

func ofCSR(condition registration.Condition, name string, make func(*sample)) failure {
	f := failing(condition, name, make)
	f.driver = registration.CSR
	return f
}

func ofToken(condition registration.Condition, name string, make func(*sample)) failure {
	f := failing(condition, name, make)
	f.driver = registration.Token
	return f
}

func (s *sample) rawChange(f func(map[string][]byte)) { s.raw = append(s.raw, f) }

func set(key, value string) func(*sample) { return func(s *sample) { s.data[key] = []byte(value) } }

func without(key string) func(*sample) { return func(s *sample) { s.data[key] = nil } }

func setBootstrap(kubeconfig string) func(*sample) {
	return func(s *sample) { s.bootstrapData["kubeconfig"] = []byte(kubeconfig) }
}

func appendTo(key string, more []byte) func(map[string][]byte) {
	return func(data map[string][]byte) {
		if value, ok := data[key]; ok {
			data[key] = slices.Concat(value, more)
		}
	}
}

func prepend(key string, more []byte) func(map[string][]byte) {
	return func(data map[string][]byte) {
		if value, ok := data[key]; ok {
			data[key] = slices.Concat(more, value)
		}
	}
}

// inHub changes the hub kubeconfig, after the changes that the sample has.
func inHub(f func(*clientcmdapi.Config)) func(*sample) {
	return func(s *sample) {
		before := s.hub
		s.hub = func(c *clientcmdapi.Config) {
			before(c)
			f(c)
		}
	}
}

func inCluster(f func(*clientcmdapi.Cluster)) func(*sample) {
	return inHub(func(c *clientcmdapi.Config) {
		for _, cluster := range c.Clusters {
			f(cluster)
		}
	})
}

func eachCertificate(f func(*certificate)) func(*sample) {
	return func(s *sample) {
		for i := range s.certificates {
			f(&s.certificates[i])
		}
	}
}

func named(name string) func(*sample) { return eachCertificate(func(c *certificate) { c.name = name }) }

func life(from, to time.Duration) func(*sample) {
	return eachCertificate(func(c *certificate) { c.from, c.to = from, to })
}

func tokenLife(from, to time.Duration) func(*sample) {
	return func(s *sample) { s.token["iat"], s.token["exp"] = seconds(from), seconds(to) }
}

func bootstrapToken(expires time.Duration) func(*sample) {
	return func(s *sample) {
		s.bootstrap.user.Token, s.bootstrap.user.TokenFile = "", "token"
		s.bootstrapData["token"] = webToken(s.t, map[string]any{"exp": seconds(expires)})
	}
}

// bootstrapInline gives the bootstrap kubeconfig a certificate and the key of this index.
func bootstrapInline(key int) func(*sample) {
	return func(s *sample) {
		s.bootstrap.user = clientcmdapi.AuthInfo{
			ClientCertificateData: s.keys.issue(s.t, certificate{name: "bootstrap", from: -time.Hour, to: time.Hour}), ClientKeyData: s.keys.pem[key],
		}
	}
}

func bootstrapCertificate(expires time.Duration) func(*sample) {
	return func(s *sample) {
		s.bootstrap.user = clientcmdapi.AuthInfo{ClientCertificate: "client.crt", ClientKey: "client.key"}
		s.bootstrapData["client.crt"] = s.keys.issue(s.t, certificate{name: "bootstrap", from: -time.Hour, to: expires})
		s.bootstrapData["client.key"] = s.keys.pem[0]
	}
}

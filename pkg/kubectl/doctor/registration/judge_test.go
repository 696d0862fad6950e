package registration

import (
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	operatorv1 "open-cluster-management.io/api/operator/v1"
)

var update = flag.Bool("update", false, "write the golden file")

// row is a situation. Its reason is where OCM's behaviour is documented, or seen.
type row struct {
	name, reason string
	make         func(*world)
	number       int
	invalid      bool
	failed       []Condition
	bootstraps   []Condition
	overlooked   []Condition
	action       Action
}

const (
	scenario = "test/situations/README.md#the-table"
	csrGo    = "ocm@v1.2.1/pkg/registration/register/csr/csr.go: shouldCreateCSR"
	commonGo = "ocm@v1.2.1/pkg/registration/register/common.go: IsHubKubeConfigValidFunc"
	certGo   = "ocm@v1.2.1/pkg/registration/register/csr/certificate.go"
	selectGo = "ocm@v1.2.1/pkg/registration/spoke/bootstrapkubeconfigs.go"
	tokenGo  = "ocm@v1.2.1/pkg/registration/register/token/token_validation.go"
	agentGo  = "ocm@v1.2.1/pkg/registration/spoke/spokeagent.go: RunSpokeAgentWithSpokeInformers"
	optionGo = "ocm@v1.2.1/pkg/common/options/agent.go: Complete, Validate"
	clientGo = "client-go@v0.34.4/tools/clientcmd/validation.go"
	tlsGo    = "the hub's TLS handshake"
)

func situations() []row {
	return []row{
		{name: "no hub kubeconfig yet", reason: scenario, make: (*world).noHub,
			number: 1, invalid: true, failed: []Condition{KubeconfigMissing}, action: Joins},
		{name: "both valid", reason: scenario, make: func(*world) {}, number: 2, action: Works},
		{name: "bootstrap expired", reason: scenario, make: func(w *world) { w.expire(0) },
			number: 3, bootstraps: []Condition{BootstrapExpired}, action: Works},
		{name: "bootstrap with an expired certificate", reason: scenario, make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) {
				c.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificate: "client.crt", ClientKey: "client.key"}
			})
			w.facts.Bootstraps[0].Data["client.crt"] = w.certificate(-2*time.Hour, -time.Second, nil)
			w.facts.Bootstraps[0].Data["client.key"] = w.keyPEM
		}, number: 3, bootstraps: []Condition{BootstrapExpired}, action: Works},
		{name: "bootstrap with a token in a file, expired", reason: scenario, make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) { c.AuthInfos["user"] = &clientcmdapi.AuthInfo{TokenFile: "token"} })
			w.facts.Bootstraps[0].Data["token"] = w.token(-2*time.Hour, -time.Hour, "")
		}, number: 3, bootstraps: []Condition{BootstrapExpired}, action: Works},
		{name: "bootstrap with a token that expires later", reason: scenario, make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) { c.AuthInfos["user"].Token = string(w.token(-time.Hour, time.Hour, "")) })
		}, number: 2, action: Works},
		{name: "bootstrap unknown to the hub", reason: scenario, make: func(w *world) { w.facts.Bootstraps[0].Rejected = "401 Unauthorized" },
			number: 3, bootstraps: []Condition{BootstrapRejected}, action: Works},
		{name: "bootstrap without credentials", reason: "the hub takes it for system:anonymous", make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) { c.AuthInfos = nil })
		}, number: 3, bootstraps: []Condition{BootstrapRejected}, action: Works},
		{name: "bootstrap missing", reason: scenario + ", D4", make: func(w *world) { w.noBootstrap(0) },
			number: 3, invalid: true, bootstraps: []Condition{BootstrapMissing}, action: PodWaits},
		{name: "bootstrap unparsable", reason: scenario + ", D7", make: func(w *world) { w.facts.Bootstraps[0].Data["kubeconfig"] = []byte("[") },
			number: 3, invalid: true, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "bootstrap empty", reason: "clientcmd.Load takes it for a kubeconfig without content", make: func(w *world) {
			w.facts.Bootstraps[0].Data["kubeconfig"] = nil
		}, number: 3, invalid: true, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "bootstrap without its key", reason: commonGo, make: func(w *world) { delete(w.facts.Bootstraps[0].Data, "kubeconfig") },
			number: 3, invalid: true, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "bootstrap without its cluster", reason: commonGo, make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) { c.Clusters = nil })
		}, number: 3, invalid: true, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "bootstrap whose CA bundle is a file that is not there", reason: clientGo, make: func(w *world) {
			inFile := func(c *clientcmdapi.Cluster) { c.CertificateAuthority, c.CertificateAuthorityData = "ca.crt", nil }
			w.bootstrap(0, func(c *clientcmdapi.Config) { inFile(c.Clusters["hub"]) })
			w.hubCluster(inFile)
		}, number: 3, bootstraps: []Condition{BootstrapInvalid}, overlooked: []Condition{ClientInvalid}, action: Exits},
		{name: "bootstrap with the key of another certificate", reason: "the agent makes a client of it only to join", make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) {
				c.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: w.certificate(-1, 1, nil), ClientKeyData: []byte("x")}
			})
		}, number: 3, bootstraps: []Condition{BootstrapInvalid}, action: Works},
		{name: "neither, bootstrap with the key of another certificate", reason: "the agent makes a client of it only to join", make: func(w *world) {
			w.bootstrap(0, func(c *clientcmdapi.Config) {
				c.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: w.certificate(-1, 1, nil), ClientKeyData: []byte("x")}
			})
			w.noHub()
		}, number: 4, invalid: true, failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "neither, bootstrap expired", reason: scenario, make: func(w *world) { w.expire(0); w.noHub() },
			number: 4, invalid: true, failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapExpired}, action: Retries},
		{name: "neither, bootstrap missing", reason: scenario, make: func(w *world) { w.noBootstrap(0); w.noHub() },
			number: 4, invalid: true, failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapMissing}, action: PodWaits},
		{name: "neither, no bootstrap known", reason: scenario, make: func(w *world) { w.facts.Bootstraps = nil; w.noHub() },
			number: 4, invalid: true, failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapMissing}, action: PodWaits},
		{name: "neither, bootstrap unparsable", reason: scenario, make: func(w *world) {
			w.facts.Bootstraps[0].Data["kubeconfig"] = []byte("[")
			w.noHub()
		}, number: 4, invalid: true, failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapInvalid}, action: Exits},
		{name: "not accepted by the only hub", reason: "asked with several hubs only", make: func(w *world) { w.facts.Bootstraps[0].NotAccepted = true },
			number: 2, action: Works},
		{name: "another driver", reason: "its rules are not here", make: func(w *world) { w.facts.Driver = "awsirsa" }, invalid: true},
	}
}

func fails(name, reason string, action Action, make func(*world), conditions ...Condition) row {
	return row{name: name, reason: reason, make: make, number: 1, invalid: true, failed: conditions, action: action}
}

func defects() []row {
	return []row{
		fails("no kubeconfig", scenario, Joins, func(w *world) { w.remove("kubeconfig") }, KubeconfigMissing),
		fails("no key", scenario+", D1", Waits, func(w *world) { w.remove("tls.key") }, KeyMissing),
		fails("no key, and another server", csrGo, Joins, func(w *world) {
			w.remove("tls.key")
			w.hubCluster(func(c *clientcmdapi.Cluster) { c.Server = secondHub })
		}, ServerDiffers, KeyMissing),
		fails("no certificate", scenario, Joins, func(w *world) { w.remove("tls.crt") }, CertificateMissing),
		fails("no certificate and no key", commonGo, Joins, func(w *world) { w.remove("tls.crt"); w.remove("tls.key") },
			KeyMissing, CertificateMissing),
		fails("certificate damaged", certGo, Joins, func(w *world) { w.set("tls.crt", "x") }, CertificateInvalid),
		fails("certificate with damaged content", certGo, Joins, func(w *world) {
			w.set("tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
		}, CertificateInvalid),
		fails("certificate with a header", certGo, Joins, func(w *world) {
			w.set("tls.crt", strings.Replace(string(w.facts.Hub.Data["tls.crt"]), "-----\n", "-----\nNote: x\n\n", 1))
		}, CertificateInvalid),
		fails("certificate damaged, and the agent's name empty", commonGo, Exits, func(w *world) { w.set("tls.crt", "x"); w.set("agent-name", "") },
			CertificateInvalid),
		fails("certificate of another cluster", scenario, Joins, func(w *world) { w.name("system:open-cluster-management:cluster2:agent1") },
			CertificateForOther),
		fails("certificate of a cluster that begins alike", certGo, Joins, func(w *world) {
			w.name("system:open-cluster-management:cluster10:agent1")
		}, CertificateForOther),
		fails("certificate of another agent", scenario, Joins, func(w *world) { w.name("system:open-cluster-management:cluster1:agent2") },
			CertificateForOther),
		fails("certificate of an add-on's agent", certGo, Joins, func(w *world) {
			w.name("system:open-cluster-management:cluster:cluster1:addon:helloworld:agent:agent1")
		}, CertificateForOther),
		fails("certificate of somebody else", certGo, Joins, func(w *world) { w.name("cluster1:agent1") }, CertificateForOther),
		fails("the agent's flag names another agent", optionGo, Joins, func(w *world) { w.facts.AgentName = "agent2" }, CertificateForOther),
		fails("the cluster was renamed", scenario, Joins, func(w *world) { w.facts.ClusterName = "cluster2" }, CertificateForOther),
		fails("no name of the agent", optionGo, Joins, func(w *world) { w.remove("agent-name") }, CertificateForOther),
		fails("no name of the cluster", optionGo, Joins, func(w *world) { w.facts.ClusterName = ""; w.remove("cluster-name") }, CertificateForOther),
		fails("certificate expired", scenario, Joins, func(w *world) { w.issue(-2*time.Hour, -time.Second, nil) }, CertificateExpired),
		fails("a signer in the chain expired", certGo, Joins, func(w *world) {
			signer := w.certificate(-2*time.Hour, -time.Second, func(c *x509.Certificate) { c.Subject.CommonName = "signer" })
			w.set("tls.crt", string(w.facts.Hub.Data["tls.crt"])+string(signer))
		}, CertificateExpired),
		fails("another server", scenario, Joins, func(w *world) { w.hubCluster(func(c *clientcmdapi.Cluster) { c.Server = secondHub }) }, ServerDiffers),
		fails("another proxy", scenario, Joins, func(w *world) {
			w.hubCluster(func(c *clientcmdapi.Cluster) { c.ProxyURL = "http://user:password@proxy:3128" })
		}, ProxyDiffers),
		fails("another authority", scenario, Joins, func(w *world) {
			w.hubCluster(func(c *clientcmdapi.Cluster) { c.CertificateAuthorityData = read(w.t, "other-ca.crt") })
		}, CADiffers),
		fails("the authority in a file", commonGo, Joins, func(w *world) {
			w.hubCluster(func(c *clientcmdapi.Cluster) { c.CertificateAuthority = "ca.crt" })
			w.set("ca.crt", string(read(w.t, "ca.crt")))
		}, CADiffers),
		fails("another cluster name", scenario, Joins, func(w *world) {
			w.kubeconfig(func(c *clientcmdapi.Config) {
				c.Clusters = map[string]*clientcmdapi.Cluster{"another": c.Clusters["hub"]}
				c.Contexts["default-context"].Cluster = "another"
			})
		}, ClusterDiffers),
		fails("unparsable", scenario+", D2", Exits, func(w *world) { w.set("kubeconfig", "[") }, KubeconfigInvalid),
		fails("empty", commonGo, Exits, func(w *world) { w.set("kubeconfig", "") }, KubeconfigInvalid),
		fails("without its current context", commonGo, Exits, func(w *world) {
			w.kubeconfig(func(c *clientcmdapi.Config) { c.CurrentContext = "x" })
		}, KubeconfigInvalid),
		fails("unparsable, and the rest is missing", commonGo, Exits, func(w *world) {
			w.facts.Hub.Data = map[string][]byte{"kubeconfig": []byte("["), "agent-name": []byte("agent1")}
		}, KubeconfigInvalid, KeyMissing, CertificateMissing),
		fails("a clusterName that is none", optionGo, Exits, func(w *world) { w.facts.ClusterName = "Cluster_1"; w.noHub() },
			NameInvalid, KubeconfigMissing),
		fails("an empty cluster-name", optionGo, Exits, func(w *world) { w.facts.ClusterName = ""; w.set("cluster-name", "") }, NameInvalid),
	}
}

func valids() []row {
	renews := func(name, reason string, make func(*world)) row {
		return row{name: name, reason: reason, make: make, number: 2, action: Renews}
	}
	works := func(name, reason string, make func(*world)) row {
		return row{name: name, reason: reason, make: make, number: 2, action: Works}
	}
	overlooked := func(name, reason string, action Action, make func(*world), conditions ...Condition) row {
		return row{name: name, reason: reason, make: make, number: 2, overlooked: conditions, action: action}
	}
	return []row{
		works("a quarter of the life left", csrGo, func(w *world) { w.issue(-75*time.Hour, 25*time.Hour, nil) }),
		works("a bit more than a fifth of the life left", csrGo, func(w *world) { w.issue(-79*time.Hour, 21*time.Hour, nil) }),
		renews("a fifth of the life left", csrGo, func(w *world) { w.issue(-80*time.Hour, 20*time.Hour, nil) }),
		renews("expires now", certGo, func(w *world) { w.issue(-time.Hour, 0, nil) }),
		renews("a signer expires sooner", csrGo, func(w *world) {
			w.issue(-9*time.Hour, 100*time.Hour, nil)
			signer := w.certificate(-100*time.Hour, time.Hour, func(c *x509.Certificate) { c.Subject.CommonName = "signer" })
			w.set("tls.crt", string(w.facts.Hub.Data["tls.crt"])+string(signer))
		}),
		works("a signer that lives longer", csrGo, func(w *world) {
			signer := w.certificate(-100*time.Hour, 1000*time.Hour, func(c *x509.Certificate) { c.Subject.CommonName = "signer" })
			w.set("tls.crt", string(w.facts.Hub.Data["tls.crt"])+string(signer))
		}),
		works("a signer that is younger", csrGo, func(w *world) {
			w.issue(-100*time.Hour, 20*time.Hour, nil)
			signer := w.certificate(-time.Hour, 1000*time.Hour, func(c *x509.Certificate) { c.Subject.CommonName = "signer" })
			w.set("tls.crt", string(w.facts.Hub.Data["tls.crt"])+string(signer))
		}),
		renews("another group", csrGo, func(w *world) {
			w.issue(-time.Hour, 23*time.Hour, func(c *x509.Certificate) { c.Subject.Organization = c.Subject.Organization[:1] })
		}),
		renews("an organizational unit", csrGo, func(w *world) {
			w.issue(-time.Hour, 23*time.Hour, func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"x"} })
		}),
		renews("another text of the kubeconfig", csrGo, func(w *world) { w.set("kubeconfig", string(w.facts.Hub.Data["kubeconfig"])+"# x\n") }),
		renews("another cluster-name", csrGo, func(w *world) { w.set("cluster-name", "cluster2") }),
		renews("no agent-name, and a flag", csrGo, func(w *world) { w.facts.AgentName = "agent1"; w.remove("agent-name") }),
		works("no flag", optionGo, func(w *world) { w.facts.ClusterName = "" }),
		renews("an empty agent-name: OCM asks for no name", commonGo, func(w *world) {
			w.set("agent-name", "")
			w.name("system:open-cluster-management:cluster1:agent1")
		}),
		overlooked("the key of another certificate", tlsGo, Stuck, func(w *world) { w.set("tls.key", string(pemOfKey(w.t, newWorld(w.t).key))) }, KeyMismatch),
		overlooked("an empty key", tlsGo, Stuck, func(w *world) { w.set("tls.key", "") }, KeyMismatch),
		overlooked("a certificate that is not valid yet", certGo, Stuck, func(w *world) { w.issue(time.Minute, 23*time.Hour, nil) }, CertificateTooEarly),
		overlooked("a user without credentials", "client-go takes a missing user for anonymous", Stuck, func(w *world) {
			w.kubeconfig(func(c *clientcmdapi.Config) { c.AuthInfos = nil })
		}, LoginMissing),
		overlooked("a user whose key is another file", clientGo, Exits, func(w *world) {
			w.kubeconfig(func(c *clientcmdapi.Config) { c.AuthInfos["default-auth"].ClientKey = "x" })
		}, ClientInvalid),
		overlooked("a CA bundle in a file of the bootstrap kubeconfig's Secret", "the agent copies the name, and not the file", Exits, func(w *world) {
			w.facts.Bootstraps[0].Data["ca.crt"] = read(w.t, "ca.crt")
			w.bootstrap(0, func(c *clientcmdapi.Config) {
				c.Clusters["hub"].CertificateAuthority, c.Clusters["hub"].CertificateAuthorityData = "ca.crt", nil
			})
			w.set("kubeconfig", string(w.written(0)))
		}, ClientInvalid),
	}
}

func places() []row {
	return []row{
		{name: "Hosted", reason: "docs/situations.md#the-four-kubeconfigs", make: func(w *world) {
			w.facts.Mode, w.facts.Klusterlet = operatorv1.InstallModeHosted, "klusterlet-cluster1"
			w.remove("tls.key")
			w.expire(0)
		}, number: 4, invalid: true, failed: []Condition{KeyMissing}, bootstraps: []Condition{BootstrapExpired}, action: Waits},
		{name: "SingletonHosted", reason: "ocm@v1.2.1/manifests/klusterlet/management/klusterlet-agent-deployment.yaml", make: func(w *world) {
			w.facts.Mode, w.facts.Klusterlet = operatorv1.InstallModeSingletonHosted, "klusterlet-cluster1"
			w.set("kubeconfig", "[")
		}, number: 1, invalid: true, failed: []Condition{KubeconfigInvalid}, action: Exits},
		{name: "Singleton, with a context", reason: "ocm@v1.2.1/manifests/klusterlet/management/klusterlet-agent-deployment.yaml", make: func(w *world) {
			w.facts.Mode, w.facts.Kubectl = operatorv1.InstallModeSingleton, "kubectl --context=cluster1"
			w.set("kubeconfig", "[")
		}, number: 1, invalid: true, failed: []Condition{KubeconfigInvalid}, action: Exits},
		{name: "another namespace and another Secret", reason: "the Klusterlet's spec.namespace", make: func(w *world) {
			w.facts.Namespace, w.facts.Hub.Name = "ns", "hub"
			w.remove("tls.key")
		}, number: 1, invalid: true, failed: []Condition{KeyMissing}, action: Waits},
	}
}

// of returns a row with two hubs.
func of(r row, make func(*world)) row {
	r.make = func(w *world) {
		w.twoHubs()
		make(w)
	}
	return r
}

func severalHubs() []row {
	onSecond := func(w *world) { w.set("kubeconfig", string(w.written(1))) }
	return []row{
		of(row{name: "two hubs, all valid", reason: selectGo, number: 2, action: Works}, func(*world) {}),
		of(row{name: "two hubs, joined to the second", reason: selectGo, number: 2, action: Works}, onSecond),
		of(row{name: "two hubs, no hub kubeconfig", reason: selectGo, number: 1, invalid: true, failed: []Condition{KubeconfigMissing}, action: Joins},
			(*world).noHub),
		of(row{name: "two hubs, the first expired", reason: scenario + ", D5", number: 3, bootstraps: []Condition{BootstrapExpired}, action: Moves},
			func(w *world) { w.expire(0) }),
		of(row{name: "two hubs, the first unparsable", reason: scenario + ", D5", number: 1, invalid: true,
			failed: []Condition{ServerDiffers}, bootstraps: []Condition{BootstrapInvalid}, action: Joins},
			func(w *world) { w.facts.Bootstraps[0].Data["kubeconfig"] = []byte("[") }),
		of(row{name: "two hubs, the first refuses the cluster", reason: selectGo, number: 3, bootstraps: []Condition{BootstrapNotAccepted}, action: Moves},
			func(w *world) { w.facts.Bootstraps[0].NotAccepted = true }),
		of(row{name: "two hubs, the second expired", reason: scenario + ", D3", number: 2, bootstraps: []Condition{BootstrapExpired}, action: Works},
			func(w *world) { w.expire(1) }),
		of(row{name: "two hubs, both expired", reason: scenario + ", D6", number: 3,
			bootstraps: []Condition{BootstrapExpired, BootstrapExpired}, action: Exits}, func(w *world) { w.expire(0); w.expire(1) }),
		of(row{name: "two hubs, neither valid", reason: scenario, number: 4, invalid: true, failed: []Condition{KubeconfigMissing},
			bootstraps: []Condition{BootstrapExpired, BootstrapExpired}, action: Exits}, func(w *world) { w.expire(0); w.expire(1); w.noHub() }),
		of(row{name: "two hubs, the first expired and no hub kubeconfig", reason: scenario, number: 1, invalid: true,
			failed: []Condition{KubeconfigMissing}, bootstraps: []Condition{BootstrapExpired}, action: Joins}, func(w *world) { w.expire(0); w.noHub() }),
		of(row{name: "two hubs, the first missing", reason: scenario + ", D4", number: 1, invalid: true,
			failed: []Condition{ServerDiffers}, bootstraps: []Condition{BootstrapMissing}, action: PodWaits}, func(w *world) { w.noBootstrap(0) }),
		of(row{name: "two hubs, both missing", reason: scenario + ", D4", number: 3, invalid: true,
			bootstraps: []Condition{BootstrapMissing, BootstrapMissing}, action: PodWaits}, func(w *world) { w.noBootstrap(0); w.noBootstrap(1) }),
		of(row{name: "two hubs, joined to the second, no key", reason: selectGo + ": without the key it finds no matching one", number: 1, invalid: true,
			failed: []Condition{ServerDiffers, KeyMissing}, action: Joins}, func(w *world) { onSecond(w); w.remove("tls.key") }),
		of(row{name: "two bootstrap kubeconfigs of one hub, the first expired", reason: selectGo, number: 3,
			bootstraps: []Condition{BootstrapExpired}, action: Works}, func(w *world) {
			w.bootstrap(1, func(c *clientcmdapi.Config) { c.Clusters["hub"].Server = firstHub })
			w.expire(0)
		}),
	}
}

func tokens() []row {
	life := func(from, to time.Duration, uid string) func(*world) {
		return func(w *world) { w.withToken(from, to, uid) }
	}
	return []row{
		{name: "token", reason: tokenGo, make: life(-79*time.Hour, 21*time.Hour, "a9f8"), number: 2, action: Works},
		{name: "token of any ServiceAccount", reason: tokenGo, make: func(w *world) {
			w.withToken(-time.Hour, time.Hour, "b7c6")
			w.facts.ServiceAccountUID = ""
		}, number: 2, action: Works},
		fails("token with a fifth of its life left", tokenGo, Joins, life(-80*time.Hour, 20*time.Hour, "a9f8"), TokenExpiring),
		fails("token that expired", tokenGo, Joins, life(-time.Hour, -time.Second, "a9f8"), TokenExpired),
		fails("token that ends before it begins", tokenGo, Joins, life(2*time.Hour, time.Hour, "a9f8"), TokenInvalid),
		fails("token of another ServiceAccount", tokenGo, Joins, life(-time.Hour, time.Hour, "b7c6"), TokenForOther),
		fails("no token", tokenGo, Joins, func(w *world) { w.withToken(-time.Hour, time.Hour, ""); w.remove("token") }, TokenMissing),
		fails("an opaque token", tokenGo, Joins, func(w *world) { w.withToken(-time.Hour, time.Hour, ""); w.set("token", "x") }, TokenInvalid),
		fails("a token without a payload", tokenGo, Joins, func(w *world) { w.withToken(-time.Hour, time.Hour, ""); w.set("token", "a.!.b") }, TokenInvalid),
		fails("a token without claims", tokenGo, Joins, func(w *world) { w.withToken(-time.Hour, time.Hour, ""); w.set("token", "a.W10.b") }, TokenInvalid),
		fails("a token without an end", tokenGo, Joins, func(w *world) { w.withToken(-time.Hour, time.Hour, ""); w.set("token", "a.e30.b") }, TokenInvalid),
		fails("a token without a time of issue", tokenGo, Joins, func(w *world) {
			w.withToken(-time.Hour, time.Hour, "")
			w.set("token", "a.eyJleHAiOjQwMDAwMDAwMDB9.b")
		}, TokenInvalid),
		fails("token and another server", tokenGo+": it asks for the token alone", Waits, func(w *world) {
			w.withToken(-time.Hour, time.Hour, "a9f8")
			w.hubCluster(func(c *clientcmdapi.Cluster) { c.Server = secondHub })
		}, ServerDiffers),
	}
}

func rows() []row {
	var all []row
	for _, some := range [][]row{situations(), defects(), valids(), places(), severalHubs(), tokens()} {
		all = append(all, some...)
	}
	return all
}

func TestJudge(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t)
			r.make(w)
			got := Judge(w.facts)
			want := Verdict{
				Situation: Situation{Number: r.number, Name: map[int]SituationName{0: NotJudged, 1: NoHubKubeconfig, 2: BothValid, 3: OnlyHubValid,
					4: NeitherValid}[r.number], Detached: w.facts.detached(), SeveralHubs: w.facts.SeveralHubs},
				Valid: !r.invalid, Action: r.action,
			}
			if got.Situation != want.Situation || got.Valid != want.Valid || got.Action != want.Action {
				t.Errorf("%s: got %+v, valid %v, %s; want %+v, valid %v, %s", r.reason,
					got.Situation, got.Valid, got.Action, want.Situation, want.Valid, want.Action)
			}
			for _, part := range []struct {
				name string
				got  []Finding
				want []Condition
			}{{"failed", got.Failed, r.failed}, {"bootstraps", got.Bootstraps, r.bootstraps}, {"overlooked", got.Overlooked, r.overlooked}} {
				if diff := cmp.Diff(part.want, conditionsOf(part.got)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", r.reason, part.name, diff)
				}
			}
		})
	}
}

func conditionsOf(findings []Finding) []Condition {
	var conditions []Condition
	for _, f := range findings {
		conditions = append(conditions, f.Condition)
	}
	return conditions
}

// TestTexts compares what a user reads with the golden file.
func TestTexts(t *testing.T) {
	var all strings.Builder
	for _, r := range rows() {
		w := newWorld(t)
		r.make(w)
		write(&all, r.name, Judge(w.facts))
	}
	golden := filepath.Join("testdata", "verdicts.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, "verdicts.golden")), all.String()); diff != "" {
		t.Errorf("(-want +got; go test -update writes it):\n%s", diff)
	}
	for _, secret := range []string{"credential-", "password", "PRIVATE"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("a text contains %q", secret)
		}
	}
}

func write(to *strings.Builder, name string, v Verdict) {
	fmt.Fprintf(to, "== %s\n#%d %s detached=%v severalHubs=%v valid=%v chosen=%s\n", name, v.Situation.Number, v.Situation.Name,
		v.Situation.Detached, v.Situation.SeveralHubs, v.Valid, v.Chosen)
	for _, findings := range [][]Finding{v.Failed, v.Bootstraps, v.Overlooked} {
		for _, f := range findings {
			fmt.Fprintf(to, "%s: %s\n", f.Condition, f)
		}
	}
	fmt.Fprintf(to, "%s: %s\n", v.Action, v.WillDo)
	for _, step := range v.Do {
		fmt.Fprintf(to, "- %s.\n  %s\n", step.Text, step.Command)
	}
	fmt.Fprintf(to, "%s\n\n", v.Page)
}

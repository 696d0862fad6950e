package judge

import (
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

const (
	clusterName = "cluster1"
	agentName   = "agent1"
	user        = "system:open-cluster-management:"
	uid         = "a9f8"
)

// sample is what a case is made of, before the Secrets are rendered.
type sample struct {
	t         *testing.T
	keys      keys
	bootstrap source
	// hub is what differs from the kubeconfig that OCM writes for bootstrap.
	hub          func(*clientcmdapi.Config)
	certificates []certificate
	token        map[string]any
	// data overrides keys of the hub kubeconfig's Secret; nil removes one. raw changes
	// them last.
	data map[string][]byte
	raw  []func(data map[string][]byte)
	// bootstrapData does the same for the bootstrap kubeconfig's.
	bootstrapData map[string][]byte
	noHub         bool
	driver        registration.Driver
	clusterFlag   string
	agentFlag     string
}

// source is the content of a bootstrap kubeconfig.
type source struct {
	contextName, clusterName string
	cluster                  clientcmdapi.Cluster
	user                     clientcmdapi.AuthInfo
	noUser                   bool
}

// newSample returns a sample with a valid hub kubeconfig.
func newSample(t *testing.T, k keys, driver registration.Driver) *sample {
	t.Helper()
	return &sample{
		t: t, keys: k, driver: driver,
		bootstrap: source{
			contextName: "bootstrap", clusterName: "hub",
			cluster: clientcmdapi.Cluster{Server: "https://hub.example.com:6443", CertificateAuthorityData: k.ca[0]},
			user:    clientcmdapi.AuthInfo{Token: "opaque"},
		},
		hub:           func(*clientcmdapi.Config) {},
		certificates:  []certificate{agentCertificate()},
		token:         goodToken(),
		data:          map[string][]byte{},
		bootstrapData: map[string][]byte{},
		clusterFlag:   clusterName,
	}
}

func agentCertificate() certificate {
	return certificate{
		name: user + clusterName + ":" + agentName, groups: []string{user + clusterName, user + "managed-clusters"},
		from: -time.Hour, to: 23 * time.Hour,
	}
}

func goodToken() map[string]any {
	return map[string]any{"iat": seconds(-time.Hour), "exp": seconds(23 * time.Hour),
		"kubernetes.io": map[string]any{"serviceaccount": map[string]any{"uid": uid}}}
}

func seconds(fromNow time.Duration) int64 { return time.Now().Add(fromNow).Unix() }

// facts renders the sample.
func (s *sample) facts(t *testing.T) registration.Facts {
	t.Helper()
	facts := registration.Facts{
		Now: time.Now(), Driver: s.driver, ClusterName: s.clusterFlag, AgentName: s.agentFlag, ServiceAccountUID: uid,
		Bootstraps: []registration.Bootstrap{{Secret: registration.Secret{Exists: true, Data: s.renderBootstrap(t)}}},
	}
	if !s.noHub {
		facts.Hub = registration.Secret{Exists: true, Data: s.renderHub(t)}
	}
	return facts
}

func (s *sample) renderBootstrap(t *testing.T) map[string][]byte {
	t.Helper()
	b := s.bootstrap
	config := clientcmdapi.Config{
		CurrentContext: b.contextName,
		Contexts:       map[string]*clientcmdapi.Context{b.contextName: {Cluster: b.clusterName, AuthInfo: "user"}},
		Clusters:       map[string]*clientcmdapi.Cluster{b.clusterName: &b.cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": &b.user},
	}
	if b.noUser {
		config.AuthInfos = nil
	}
	return override(map[string][]byte{"kubeconfig": encode(t, &config)}, s.bootstrapData)
}

func (s *sample) renderHub(t *testing.T) map[string][]byte {
	t.Helper()
	b := s.bootstrap
	login := &clientcmdapi.AuthInfo{ClientCertificate: "tls.crt", ClientKey: "tls.key"}
	if s.driver == registration.Token {
		login = &clientcmdapi.AuthInfo{TokenFile: "token"}
	}
	config := clientcmdapi.Config{
		CurrentContext: "default-context",
		Contexts: map[string]*clientcmdapi.Context{"default-context": {
			Cluster: b.clusterName, AuthInfo: "default-auth", Namespace: "configuration"}},
		Clusters: map[string]*clientcmdapi.Cluster{b.clusterName: {
			Server: b.cluster.Server, ProxyURL: b.cluster.ProxyURL,
			CertificateAuthority: b.cluster.CertificateAuthority, CertificateAuthorityData: b.cluster.CertificateAuthorityData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"default-auth": login},
	}
	s.hub(&config)
	data := map[string][]byte{"kubeconfig": encode(t, &config), "cluster-name": []byte(clusterName), "agent-name": []byte(agentName)}
	if s.driver == registration.Token {
		data["token"] = webToken(t, s.token)
	} else {
		data["tls.key"], data["tls.crt"] = s.keys.pem[0], s.keys.chain(t, s.certificates)
	}
	data = override(data, s.data)
	for _, change := range s.raw {
		change(data)
	}
	return data
}

// override replaces keys, and removes those with a nil value.
func override(data, by map[string][]byte) map[string][]byte {
	maps.Copy(data, by)
	maps.DeleteFunc(data, func(_ string, value []byte) bool { return value == nil })
	return data
}

func encode(t *testing.T, config *clientcmdapi.Config) []byte {
	t.Helper()
	raw, err := runtime.Encode(clientcmdlatest.Codec, config)
	must(t, err)
	return raw
}

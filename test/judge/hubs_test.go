package judge

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/registration/spoke"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/events"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// Tokens of bootstrap kubeconfigs that the hubs know.
const (
	accepted = "accepted"
	noRights = "no-rights"
)

// hubs serves the API of any number of hubs, and of the agent's own cluster. A hub is a path: its
// name ends with what it makes of the cluster.
type hubs struct {
	*httptest.Server
	// secret is the hub kubeconfig's Secret on the agent's cluster, or nil.
	secret *corev1.Secret
}

const (
	joined  = "joined"
	refused = "refused"
	unknown = "unknown"
)

func newHubs(t *testing.T) *hubs {
	t.Helper()
	h := &hubs{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *hubs) serve(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	hub, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/secrets/"+registration.HubSecret) && h.secret != nil:
		answerWith(w, http.StatusOK, h.secret)
	case hub == "management":
		answerWith(w, http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound))
	case token != accepted && token != noRights:
		answerWith(w, http.StatusUnauthorized, status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized))
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		answerWith(w, http.StatusCreated, &authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
			Status:   authorizationv1.SubjectAccessReviewStatus{Allowed: token == accepted}})
	case strings.HasSuffix(hub, unknown):
		answerWith(w, http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound))
	default:
		answerWith(w, http.StatusOK, &clusterv1.ManagedCluster{
			TypeMeta:   metav1.TypeMeta{APIVersion: "cluster.open-cluster-management.io/v1", Kind: "ManagedCluster"},
			ObjectMeta: metav1.ObjectMeta{Name: clusterName},
			Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: strings.HasSuffix(hub, joined)}})
	}
}

func status(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason}
}

func answerWith(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// selection records which bootstrap kubeconfig the agent selects, and ends the agent there.
type selection struct {
	events.Recorder
	index int
}

func (s *selection) Eventf(_ context.Context, reason, _ string, args ...any) {
	if reason == "BootstrapSelected" {
		s.index, _ = args[0].(int)
		runtime.Goexit()
	}
}

// choose returns the index of the bootstrap kubeconfig that OCM's agent selects, or -1.
func (h *hubs) choose(t *testing.T, o oracle, facts registration.Facts) int {
	t.Helper()
	o.writeFiles(t, facts)
	h.secret = nil
	if facts.Hub.Exists {
		h.secret = &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: registration.HubSecret}, Data: facts.Hub.Data}
	}
	agent := options.NewAgentOptions()
	agent.ComponentNamespace, agent.HubKubeconfigDir, agent.SpokeClusterName = namespace, o.hubDir(), facts.ClusterName
	opts := spoke.NewSpokeAgentOptions()
	for i := range facts.Bootstraps {
		opts.BootstrapKubeconfigs = append(opts.BootstrapKubeconfigs, o.bootstrapFile(i))
	}
	selected := &selection{index: -1}
	management := &rest.Config{Host: h.URL + "/management", TLSClientConfig: rest.TLSClientConfig{CAData: h.authority()}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		config := spoke.NewSpokeAgentConfig(agent, opts, func() {})
		// It returns an error when it can select none.
		_ = config.RunSpokeAgentWithSpokeInformers(t.Context(), management, management, nil, nil, nil, nil, selected)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the agent selects no bootstrap kubeconfig, and does not end")
	}
	return selected.index
}

func (h *hubs) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
}

// bootstrap returns a bootstrap kubeconfig of a hub, with what is true of it.
func (h *hubs) bootstrap(t *testing.T, name, hub, flaw string) registration.Bootstrap {
	t.Helper()
	config := clientcmdapi.Config{
		CurrentContext: "bootstrap",
		Contexts:       map[string]*clientcmdapi.Context{"bootstrap": {Cluster: "hub", AuthInfo: "user"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: h.URL + "/" + hub, CertificateAuthorityData: h.authority()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"user": {Token: accepted}},
	}
	b := registration.Bootstrap{NotAccepted: strings.HasSuffix(hub, refused)}
	b.Name, b.Exists = name, true
	user := config.AuthInfos["user"]
	switch flaw {
	case "expired":
		user.Token = string(webToken(t, map[string]any{"exp": seconds(-time.Hour)}))
	case "unknown":
		user.Token, b.Rejected = "unknown", "401 Unauthorized"
	case "without rights":
		user.Token, b.Rejected = noRights, "may not create managedclusters"
	case "anonymous":
		config.AuthInfos = nil
	case "with a missing file":
		user.TokenFile, user.Token = "token", ""
	}
	b.Data = map[string][]byte{"kubeconfig": encode(t, &config)}
	switch flaw {
	case "unparsable":
		b.Data["kubeconfig"] = []byte("[")
	case "without its key":
		b.Data = map[string][]byte{}
	case "missing":
		b.Exists, b.Data = false, nil
	}
	return b
}

var flaws = []string{"", "", "", "expired", "unknown", "without rights", "anonymous", "with a missing file", "unparsable", "without its key", "missing"}

// TestSeveralHubs: with several hubs, the judge and OCM choose the same bootstrap kubeconfig.
func TestSeveralHubs(t *testing.T) {
	must(t, features.SpokeMutableFeatureGate.Set("MultipleHubs=true"))
	t.Cleanup(func() { must(t, features.SpokeMutableFeatureGate.Set("MultipleHubs=false")) })
	h, k := newHubs(t), newKeys(t)
	o := oracle{dir: filepath.Join(t.TempDir(), "pod"), client: fake.NewClientset()}
	source := rand.New(rand.NewPCG(14, 3))
	pick := func(from ...string) string { return from[source.IntN(len(from))] }
	chosen := map[int]int{}
	for range 300 {
		facts := registration.Facts{Now: time.Now(), ClusterName: clusterName, SeveralHubs: true}
		var about []string
		hubNames := []string{"a-" + pick(joined, joined, refused, unknown), "b-" + pick(joined, joined, refused, unknown)}
		for i := range 2 + source.IntN(2) {
			hub, flaw := pick(hubNames...), pick(flaws...)
			facts.Bootstraps = append(facts.Bootstraps, h.bootstrap(t, fmt.Sprint("bootstrap-", i), hub, flaw))
			about = append(about, strings.TrimSpace(flaw+" of hub "+hub))
		}
		s := newSample(t, k, registration.CSR)
		s.bootstrap.cluster = clientcmdapi.Cluster{Server: h.URL + "/" + pick(append(hubNames, "c")...), CertificateAuthorityData: h.authority()}
		change := pick("nothing", "nothing", "nothing", "no Secret", "no key", "expired", "a kubeconfig that does not parse", "no kubeconfig")
		for _, f := range failures {
			if f.name == change {
				f.make(s)
			}
		}
		if !s.noHub {
			facts.Hub = registration.Secret{Exists: true, Data: s.renderHub(t)}
		}
		want := h.choose(t, o, facts)
		chosen[want]++
		got := -1
		for i, b := range facts.Bootstraps {
			if b.Name == registration.Judge(facts).Chosen {
				got = i
			}
		}
		if got != want {
			t.Errorf("bootstrap kubeconfigs: %s; hub kubeconfig of %s with %s: OCM chooses %d, the judge %d",
				strings.Join(about, ", "), s.bootstrap.cluster.Server, change, want, got)
		}
	}
	t.Logf("chosen: %v", chosen)
	for index, least := range map[int]int{-1: 50, 0: 50, 1: 30, 2: 5} {
		if chosen[index] < least {
			t.Errorf("the bootstrap kubeconfig %d was chosen %d times, of %v", index, chosen[index], chosen)
		}
	}
}

package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// hubWith returns the URL of an API server that has these objects by path, and answers to others by code.
func hubWith(t *testing.T, code int, objects map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if object, ok := objects[r.URL.Path]; ok {
			_, _ = w.Write([]byte(object))
			return
		}
		reason := map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden}[code]
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code),
			Reason: reason, Message: "not for you"})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const (
	clusterPath = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	addOnPath   = "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons"
	two         = `{"kind":"ManagedClusterList","apiVersion":"cluster.open-cluster-management.io/v1","items":[` +
		`{"metadata":{"name":"cluster1"}},{"metadata":{"name":"cluster2"},"spec":{"hubAcceptsClient":true}}]}`
	enabled = `{"kind":"ManagedClusterAddOnList","apiVersion":"addon.open-cluster-management.io/v1alpha1","items":[{"metadata":{"name":"helloworld","namespace":"cluster1"}}]}`
)

// ask runs the command.
func ask(t *testing.T, server string, arguments ...string) (string, error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	flags := genericclioptions.NewConfigFlags(false)
	flags.APIServer = &server
	var out bytes.Buffer
	command := NewCommand(flags, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs(append([]string{}, arguments...))
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// TestAsk: what may not be read is said once, and is taken for unknown.
func TestAsk(t *testing.T) {
	const inNamespace = "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/%s/managedclusteraddons"
	forbidden := hubWith(t, http.StatusForbidden, map[string]string{clusterPath: two, addOnPath: enabled,
		fmt.Sprintf(inNamespace, "cluster1"): enabled, fmt.Sprintf(inNamespace, "cluster2"): `{"kind":"ManagedClusterAddOnList","apiVersion":"addon.open-cluster-management.io/v1alpha1","items":[]}`})
	for _, c := range []struct {
		name, reason string
		server       string
		arguments    []string
		want         []string
		code         int
	}{
		{"all clusters", "those with the add-on", forbidden, nil, []string{"Not judged: cannot read ManifestWorks: ", "cluster1: not well", "1. NotAccepted",
			`{"spec":{"hubAcceptsClient":true}}`, "1 cluster examined from the hub, 1 not well."}, 1},
		{"one that is well as far as is known", "", forbidden, []string{"cluster2"}, []string{"Not judged: cannot read RoleBindings: "}, 1},
		{"a hub without the add-on", "nothing is forbidden there", hubWith(t, http.StatusNotFound, map[string]string{clusterPath: two}), nil,
			[]string{"1. NotInstalled", "- ControllerMissing", "- Install the add-on, in the way that your hub uses"}, 1},
		{"add-ons that may not be read", "nothing is known then", hubWith(t, http.StatusForbidden, map[string]string{clusterPath: two}), nil, []string{"list ManagedClusterAddOns of"}, 2},
		{"no hub", "", hubWith(t, http.StatusNotFound, nil), nil, []string{"is not a hub of Open Cluster Management"}, 2},
		{"a managed cluster without a name", "whose would it be", forbidden, []string{"--managed-context=x"}, []string{"about one cluster: name it, instead of 0"}, 2},
		{"a format", "", forbidden, []string{"-o", "xml"}, []string{"--output=xml: use one of json, yaml"}, 2},
		{"a kubeconfig that is not there", "", forbidden, []string{"cluster1", "--managed-kubeconfig=/none"}, []string{"read the kubeconfig of the managed cluster"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := ask(t, c.server, c.arguments...)
			code, _ := terminal.ExitCode(err)
			if err != nil {
				out += err.Error()
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d: %s\n%s", code, c.code, c.reason, out)
			}
			for _, want := range c.want {
				if strings.Count(out, want) != 1 {
					t.Errorf("%q is not there once: %s\n%s", want, c.reason, out)
				}
			}
		})
	}
	out, err := ask(t, forbidden, "cluster1", "-o", "json")
	hubobjects.CheckError(t, err, terminal.ErrNotWell.Error())
	var report struct {
		APIVersion, Kind string
		Clusters         []struct{ Findings []struct{ Reason string } }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Kind != "Diagnosis" || len(report.Clusters) != 1 || report.Clusters[0].Findings[0].Reason != "NotAccepted" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPrint: clusters with the same causes are one entry, and no message controls the terminal.
func TestPrint(t *testing.T) {
	lost := diagnosis.Finding{Reason: diagnosis.ClusterUnavailable, Message: "OCM has lost the cluster 5m0s ago.", Page: "docs/situations.md",
		Do:           []registration.Step{{Text: "Ask again", Command: "kubectl helloworld doctor cluster1 --managed-kubeconfig=FILE"}, {Text: "Or wait"}},
		Consequences: []diagnosis.Finding{{Reason: diagnosis.AgentSilent, Message: "the agent does not renew its lease"}}}
	hostile := diagnosis.Finding{Reason: diagnosis.Failed, Message: "a\x1b[31mb\n1. Well"}
	r := &Report{Now: time.Unix(0, 0), Clusters: []diagnosis.Diagnosis{
		{Cluster: "cluster1", Findings: []diagnosis.Finding{lost}, NotRead: []diagnosis.NotRead{{Resource: diagnosis.Events, Error: "forbidden"}}},
		{Cluster: "cluster2", Findings: []diagnosis.Finding{lost, hostile}},
		{Cluster: "cluster3", Findings: []diagnosis.Finding{lost}, NotRead: []diagnosis.NotRead{{Resource: diagnosis.Events, Error: "forbidden"}}},
		{Cluster: "cluster4", Well: true},
	}}
	var out bytes.Buffer
	if err := r.print("", &out, false); err != nil {
		t.Fatal(err)
	}
	hubobjects.CheckGolden(t, "report.txt", out.String())
	var colored bytes.Buffer
	if err := r.print("", &colored, true); err != nil || strings.NewReplacer("\x1b[31m", "", "\x1b[36m", "", "\x1b[0m", "").Replace(colored.String()) != out.String() {
		t.Errorf("%v: colours change the text: %s", err, colored.String())
	}
}

// TestOneCluster: a question about one cluster reads neither the other clusters' objects nor more than the hosting cluster.
func TestOneCluster(t *testing.T) {
	const hosted = `{"kind":"ManagedClusterAddOnList","apiVersion":"addon.open-cluster-management.io/v1alpha1","items":[{"metadata":{"name":"helloworld",
		"namespace":"cluster1","annotations":{"addon.open-cluster-management.io/hosting-cluster-name":"cluster2"}}}]}`
	selectors := map[string]string{
		clusterPath: "fieldSelector=metadata.name=cluster1",
		"/apis/work.open-cluster-management.io/v1/manifestworks":                 "labelSelector=open-cluster-management.io/addon-name=helloworld,open-cluster-management.io/addon-namespace=cluster1",
		"/apis/certificates.k8s.io/v1/certificatesigningrequests":                "labelSelector=open-cluster-management.io/addon-name=helloworld,open-cluster-management.io/cluster-name=cluster1",
		"/apis/addon.open-cluster-management.io/v1alpha1/addondeploymentconfigs": "", // those that clusters share
		"/apis/apps/v1/deployments":                                              "labelSelector=app.kubernetes.io/name=helloworld-controller",
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		path, query := r.URL.Path, r.URL.Query()
		asked[path] = true
		selector := ""
		for _, name := range []string{"fieldSelector", "labelSelector"} {
			if query.Has(name) {
				selector = name + "=" + query.Get(name)
			}
		}
		if want, fleet := selectors[path]; fleet && selector != want {
			t.Errorf("%s is asked with the selector %q, want %q", path, selector, want)
		} else if isList := query.Has("limit"); isList && !fleet && !strings.Contains(path, "/namespaces/cluster1/") {
			t.Errorf("%s is listed", path)
		}
		w.Header().Set("Content-Type", "application/json")
		answers := map[string]string{clusterPath: two, "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/cluster1/managedclusteraddons": hosted,
			"/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks": `{"kind":"ManifestWorkList","apiVersion":"work.open-cluster-management.io/v1","items":[]}`}
		if answer := answers[path]; answer != "" {
			_, _ = w.Write([]byte(answer))
			return
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	_, err := ask(t, server.URL, "cluster1")
	hubobjects.CheckError(t, err, terminal.ErrNotWell.Error())
	if !asked[clusterPath+"/cluster2"] {
		t.Error("the hosting cluster is not read")
	}
	for path := range selectors {
		if !asked[path] {
			t.Errorf("%s is not asked: the test shows nothing about it", path)
		}
	}
}

package calibrate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// line is a line of an audit log, as kube-apiserver writes it.
func line(id, stage, user, verb, resource, namespace, name string, code int) string {
	resource, subresource, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":%q,"stage":%q,"requestURI":"/x","verb":%q,`+
		`"user":{"username":%q,"groups":["g"]},"sourceIPs":["127.0.0.1"],"userAgent":"p/v1","objectRef":{"resource":%q,"subresource":%q,"namespace":%q,"name":%q,"apiVersion":"v1"},`+
		`"responseStatus":{"metadata":{},"code":%d},"requestReceivedTimestamp":"2026-11-23T05:00:01.5Z","stageTimestamp":"2026-11-23T05:00:02Z","annotations":{}}`+"\n",
		id, stage, verb, user, resource, subresource, namespace, name, code)
}

func TestReadLog(t *testing.T) {
	log := line("1", "ResponseStarted", "u", "watch", "configmaps", "n", "", 200) +
		line("2", "ResponseComplete", "u", "patch", "managedclusteraddons/status", "n", "helloworld", 409) +
		line("1", "ResponseComplete", "u", "watch", "configmaps", "n", "", 200)
	at := time.Date(2026, 11, 23, 5, 0, 1, 500e6, time.UTC)
	want := []Request{
		{User: "u", Program: "p/v1", Verb: "watch", Resource: "configmaps", Namespace: "n", Code: 200, Time: at},
		{User: "u", Program: "p/v1", Verb: "patch", Resource: "managedclusteraddons/status", Namespace: "n", Name: "helloworld", Code: 409, Time: at},
	}
	for what, text := range map[string]string{"whole": log, "a line that is not yet whole": log + `{"kind":"Ev`} {
		got, err := ReadLog(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: a watch counts once (-want +got):\n%s", what, diff)
		}
	}
	if _, err := ReadLog(strings.NewReader("{broken\n")); err == nil {
		t.Error("a broken line: no error")
	}
}

var two = Clusters{Real: []string{"cluster1", "cluster10"}, Simulated: []string{"fleet-0001", "fleet-0002"}}

func TestAttribute(t *testing.T) {
	const (
		registration = "system:serviceaccount:open-cluster-management-hub:registration-controller-sa"
		controller   = "system:serviceaccount:open-cluster-management:helloworld-controller"
	)
	tests := []struct {
		name, why string
		request   Request
		want      attribution
		none      bool
	}{
		{name: "joining", why: "the bootstrap user is one for all clusters, but the programs differ",
			request: Request{User: "bootstrap-user", Program: "registration/v0.0.0 (linux/amd64)"}, want: attribution{joining, false}},
		{name: "joining, simulated", why: "see above",
			request: Request{User: "bootstrap-user", Program: "ocm-fleet/v0.0.0 (linux/amd64)"}, want: attribution{joining, true}},
		{name: "OCM's agent", why: "the user has the cluster's name",
			request: Request{User: "system:open-cluster-management:fleet-0002:a1"}, want: attribution{klusterlet, true}},
		{name: "the add-on's agent", why: "its user begins as that of OCM's agent",
			request: Request{User: "system:open-cluster-management:cluster:cluster10:addon:helloworld:agent:a"}, want: attribution{addOnAgent, false}},
		{name: "the add-on's agent with a token", why: "its ServiceAccount is in the cluster's namespace",
			request: Request{User: "system:serviceaccount:fleet-0001:helloworld-agent"}, want: attribution{addOnAgent, true}},
		{name: "a manager in the cluster's namespace", why: "the hub's work for the cluster counts too",
			request: Request{User: controller, Namespace: "cluster1", Name: "helloworld"}, want: attribution{"add-on's controller", false}},
		{name: "a manager on an object of the cluster", why: "ClusterRoles are in no namespace",
			request: Request{User: registration, Name: "open-cluster-management:managedcluster:fleet-0001"}, want: attribution{"registration manager", true}},
		{name: "a certificate request", why: "its name has the cluster's and a random end",
			request: Request{User: registration, Name: "addon-cluster1-helloworld-x7k2p"}, want: attribution{"registration manager", false}},
		{name: "a cluster with a longer name", why: "cluster10 is not cluster1",
			request: Request{User: registration, Name: "cluster10"}, want: attribution{"registration manager", false}},
		{name: "another cluster", why: "a cluster that is not compared", none: true,
			request: Request{User: registration, Name: "cluster2"}},
		{name: "a manager's own", why: "its watches are for all clusters", none: true,
			request: Request{User: controller, Verb: "watch", Resource: "managedclusters"}},
		{name: "a person", why: "the scenario's own requests do not count", none: true,
			request: Request{User: "kubernetes-admin", Namespace: "cluster1"}},
		{name: "the hub as a client", why: "neither do those of Kubernetes", none: true,
			request: Request{User: "system:apiserver", Namespace: "cluster1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := two.attribute(test.request)
			if ok == test.none || got != test.want {
				t.Errorf("%s: got %v, %t; want %v", test.why, got, ok, test.want)
			}
		})
	}
}

func TestMentions(t *testing.T) {
	for name, want := range map[string]bool{
		"cluster1": true, "addon-cluster1-helloworld-abc": true, "managedcluster:cluster1:work": true, "cluster10 and cluster1": true,
		"cluster10": false, "mycluster1": false, "cluster": false, "": false,
	} {
		if got := mentions(name, "cluster1"); got != want {
			t.Errorf("%q: got %t", name, got)
		}
	}
}

// at returns the moment so many seconds after the start.
func at(seconds int) time.Time { return time.Unix(1000+int64(seconds), 0) }

var phases = []Phase{{"join", at(0), at(10)}, {Idle, at(10), at(20)}, {"disable", at(30), at(40)}}

// asks are n requests of a cluster's OCM agents.
func asks(n int, cluster, verb, resource string, code, second int) []Request {
	var requests []Request
	for range n {
		requests = append(requests, Request{User: agentPrefix + cluster + ":a", Verb: verb, Resource: resource, Code: code, Time: at(second)})
	}
	return requests
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name, why string
		requests  [][]Request
		want      []Row
		ok        []bool
	}{
		{name: "alike", why: "the same number per cluster",
			requests: [][]Request{asks(2, "cluster1", "get", "x", 200, 1), asks(2, "fleet-0001", "get", "x", 200, 2)},
			want:     []Row{{klusterlet, "get x", 1, 1, nil, ""}}, ok: []bool{true}},
		{name: "one request more", why: "one request per cluster is the tolerance for small numbers",
			requests: [][]Request{asks(4, "cluster1", "get", "x", 200, 1), asks(6, "fleet-0001", "get", "x", 200, 1)},
			want:     []Row{{klusterlet, "get x", 2, 3, []string{"join 2 / 3"}, ""}}, ok: []bool{true}},
		{name: "two requests more", why: "beyond a request and a tenth",
			requests: [][]Request{asks(4, "cluster1", "get", "x", 200, 1), asks(8, "fleet-0001", "get", "x", 200, 1)},
			want:     []Row{{klusterlet, "get x", 2, 4, []string{"join 2 / 4"}, ""}}, ok: []bool{false}},
		{name: "a tenth more", why: "a tenth is the tolerance for large numbers",
			requests: [][]Request{asks(60, "cluster1", "get", "x", 200, 1), asks(66, "fleet-0001", "get", "x", 200, 1)},
			want:     []Row{{klusterlet, "get x", 30, 33, []string{"join 30 / 33"}, ""}}, ok: []bool{true}},
		{name: "more than a tenth fewer", why: "both directions count",
			requests: [][]Request{asks(60, "cluster1", "get", "x", 200, 1), asks(53, "fleet-0001", "get", "x", 200, 1)},
			want:     []Row{{klusterlet, "get x", 30, 26.5, []string{"join 30 / 26.5"}, ""}}, ok: []bool{false}},
		{name: "none at all", why: "requests that only real clusters make are a difference",
			requests: [][]Request{asks(4, "cluster1", "get", "x", 200, 1)},
			want:     []Row{{klusterlet, "get x", 2, 0, []string{"join 2 / 0"}, ""}}, ok: []bool{false}},
		{name: "other phases", why: "the sum is compared; the table shows the phases",
			requests: [][]Request{asks(2, "cluster1", "get", "x", 200, 1), asks(2, "fleet-0001", "get", "x", 200, 31)},
			want:     []Row{{klusterlet, "get x", 1, 1, []string{"join 1 / 0", "disable 0 / 1"}, ""}}, ok: []bool{true}},
		{name: "outside of the phases", why: "between them things are prepared",
			requests: [][]Request{asks(2, "cluster1", "get", "x", 200, 25), asks(2, "cluster1", "get", "x", 200, 40)}},
		{name: "conflicts", why: "an error is a row of its own, since it is no work done; how many conflicts there are is chance",
			requests: [][]Request{asks(2, "cluster1", "patch", "x/status", 200, 1), asks(4, "fleet-0001", "patch", "x/status", 409, 1)},
			want: []Row{{klusterlet, "patch x/status", 1, 0, []string{"join 1 / 0"}, ""},
				{klusterlet, "patch x/status, 409", 0, 2, []string{"join 0 / 2"}, "two writers at once, which is chance"}}, ok: []bool{true, false}},
		{name: "a known difference", why: "a fifth is what its cause explains",
			requests: [][]Request{asks(40, "cluster1", "patch", "manifestworks/status", 200, 1), asks(32, "fleet-0001", "patch", "manifestworks/status", 200, 1)},
			want: []Row{{klusterlet, "patch manifestworks/status", 20, 16, []string{"join 20 / 16"},
				"a real cluster is slower, so more states between are reported"}}, ok: []bool{false}},
		{name: "beyond a known difference", why: "half is more than its cause explains, so it has another one",
			requests: [][]Request{asks(40, "cluster1", "patch", "manifestworks/status", 200, 1), asks(20, "fleet-0001", "patch", "manifestworks/status", 200, 1)},
			want:     []Row{{klusterlet, "patch manifestworks/status", 20, 10, []string{"join 20 / 10"}, ""}}, ok: []bool{false}},
		{name: "leases", why: "only the idle phase has the same duration for every cluster",
			requests: [][]Request{asks(20, "cluster1", "update", "leases", 200, 1), asks(4, "cluster1", "update", "leases", 200, 11), asks(4, "fleet-0002", "update", "leases", 200, 12)},
			want:     []Row{{klusterlet, "update leases", 2, 2, nil, ""}}, ok: []bool{true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var all []Request
			for _, requests := range test.requests {
				all = append(all, requests...)
			}
			rows := Compare(all, phases, two)
			if diff := cmp.Diff(test.want, rows); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", test.why, diff)
			}
			for i, row := range rows {
				if row.OK() != test.ok[i] {
					t.Errorf("%s: %s: got %t", test.why, row.Request, row.OK())
				}
			}
		})
	}
}

func TestTable(t *testing.T) {
	rows := []Row{
		{klusterlet, "get x", 2, 2.5, []string{"join 1 / 1.5"}, ""},
		{klusterlet, "get y", 5, 0, nil, "it has no nodes"},
		{klusterlet, "get z", 0, 5, nil, ""},
	}
	var out strings.Builder
	WriteTable(&out, rows)
	const want = `| who | request | real | simulated | simulated / real | alike | where they differ |
| --- | --- | ---: | ---: | ---: | --- | --- |
| registration and work agent | get x | 2 | 2.5 | 1.25 | yes | join 1 / 1.5 |
| registration and work agent | get y | 5 | 0 | 0.00 | no: it has no nodes |  |
| registration and work agent | get z | 0 | 5 | - | **no** |  |
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if failed := Failed(rows); len(failed) != 1 || failed[0].Request != "get z" {
		t.Errorf("only what differs for no known reason fails: got %v", failed)
	}
}

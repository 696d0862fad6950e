package steps

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/board"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	decoded, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestContainersOf(t *testing.T) {
	work := object(t, `{"spec":{"workload":{"manifests":[{"kind":"Namespace"},{"kind":"Deployment","spec":{"template":{"spec":{"containers":[]}}}},
		{"kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"a:1","resources":{"requests":{"cpu":"11m"}}},{"image":"b:1"}]}}}}]}}}`)
	want := []shippedContainer{{image: "a:1", cpu: "11m"}}
	if diff := cmp.Diff(want, containersOf(work), cmp.AllowUnexported(shippedContainer{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJoinsOf(t *testing.T) {
	cluster := func(created, status, since string) unstructured.Unstructured {
		return *object(t, `{"metadata":{"creationTimestamp":"2026-01-01T00:00:`+created+`Z"},"status":{"conditions":[
			{"type":"ManagedClusterJoined","status":"True","lastTransitionTime":"2026-01-01T00:00:50Z"},
			{"type":"ManagedClusterConditionAvailable","status":"`+status+`","lastTransitionTime":"2026-01-01T00:00:`+since+`Z"}]}}`)
	}
	got := joinsOf([]unstructured.Unstructured{cluster("10", "True", "20"), cluster("05", "True", "30"), cluster("07", "Unknown", "40")})
	if want := []time.Duration{15 * time.Second, 25 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("from the first creation to available: got %v, want %v", got, want)
	}
}

func TestDecisionsOf(t *testing.T) {
	list := func(group, names string) unstructured.Unstructured {
		return *object(t, `{"metadata":{"labels":{"cluster.open-cluster-management.io/decision-group-index":"`+group+`"}},"status":{"decisions":[`+names+`]}}`)
	}
	got, err := decisionsOf([]unstructured.Unstructured{list("0", `{"clusterName":"a"},{"clusterName":"b"}`), list("1", `{"clusterName":"c"}`), list("2", "")})
	if diff := cmp.Diff(map[string]int{"a": 0, "b": 0, "c": 1}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := decisionsOf([]unstructured.Unstructured{list("first", "")}); err == nil {
		t.Error("a group without a number: no error")
	}
}

func TestProgress(t *testing.T) {
	management := object(t, `{"status":{"installProgressions":[{"name":"fleet","conditions":[{"type":"Progressing","reason":"Progressing","message":"1/3 progressing..., 0 failed 1 timeout."}]},
		{"name":"other","conditions":[{"type":"Progressing","reason":"Completed"}]}]}}`)
	reason, message := progressOf(management)
	if reason != "Progressing" || !timedOut(message) {
		t.Errorf("got %s: %s", reason, message)
	}
	for message, want := range map[string]bool{
		"1/3 progressing..., 0 failed 0 timeout.": false, "2/3 progressing..., 1 failed 12 timeout.": true, "3/3 completed with no errors, 0 failed 0 timeout.": false, "": false,
	} {
		if timedOut(message) != want {
			t.Errorf("%q: timed out is %v", message, !want)
		}
	}
}

func TestInNamespace(t *testing.T) {
	account := "kind: ServiceAccount\nmetadata:\n  name: a\n"
	binding := "kind: ClusterRoleBinding\nmetadata:\n  name: a\nsubjects:\n- kind: ServiceAccount\n  namespace: x\n"
	if got := string(inNamespace([]byte(account))); !strings.Contains(got, "  namespace: open-cluster-management\n  name: a\n") {
		t.Errorf("a ServiceAccount gets a namespace: %s", got)
	}
	if got := string(inNamespace([]byte(binding))); got != binding {
		t.Errorf("what has a namespace, or needs none, stays: %s", got)
	}
}

func TestGroupsOf(t *testing.T) {
	got := groupsOf(map[string]procfs.Usage{etcd: {RSS: mebibyte}, apiServer: {RSS: 2 * mebibyte}, simulator: {RSS: 4 * mebibyte}, addOnsOf: {RSS: 8 * mebibyte}})
	want := map[string]float64{"hub": 3, "OCM's agents and the clusters' APIs": 4, "add-on agents": 8}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSamples(t *testing.T) {
	start := time.Unix(1000, 0)
	got := samples(map[string]time.Time{"a": start, "b": start.Add(time.Second)}, map[string]time.Time{"b": start.Add(3 * time.Second), "c": start})
	if !slices.Equal(got, []time.Duration{2 * time.Second}) {
		t.Errorf("from its own begin, and only where there is an end: %v", got)
	}
}

// TestSeenRequest: a certificate that was requested before the rotation is no renewed one.
func TestSeenRequest(t *testing.T) {
	f := &Fleet{board: board.New()}
	request := func(cluster, created, condition, addOn string) *unstructured.Unstructured {
		return object(t, `{"metadata":{"creationTimestamp":"`+created+`","labels":{"open-cluster-management.io/cluster-name":"`+cluster+`"`+addOn+`}},
			"status":{"conditions":[{"type":"`+condition+`","status":"True"}]}}`)
	}
	const before, after, addOn = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", `,"open-cluster-management.io/addon-name":"helloworld"`
	f.seenRequest(request("a", after, "Approved", addOn)) // there is no rotation yet
	f.renewal.begin(time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC))
	for _, r := range []*unstructured.Unstructured{
		request("b", before, "Approved", addOn), request("c", after, "Denied", addOn), request("d", after, "Approved", ""), request("e", after, "Approved", addOn),
	} {
		f.seenRequest(r)
	}
	for event, want := range map[string][]string{renewedAddOn: {"e"}, renewedOCM: {"d"}, approved: {"a", "b", "e"}} {
		if got := sorted(f.board.Times(event)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", event, got, want)
		}
	}
}

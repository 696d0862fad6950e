package rollout

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
)

// threeRevisions are a hub on which the first revision is on every cluster, and the third one stopped, as in the tutorial
// of docs/replicaset.md.
func threeRevisions(t *testing.T) *hub {
	t.Helper()
	h := newHub(t)
	eu := "eu"
	h.spec(func(s *v1alpha1.ConfigMapReplicaSetSpec) {
		s.Values = []v1alpha1.Value{{Name: "REGION", Label: "region", Default: &eu}, {Name: "ZONE", Label: "zone"},
			{Name: "URL", Expression: "'https://' + cluster.metadata.name + '.example.com'"}}
	})
	for _, data := range []map[string]string{
		{"level": "debug", "region": "$(REGION)", "url": "$(URL)"},
		{"level": "info", "region": "$(REGION)", "url": "$(URL)"},
	} {
		h.source("settings", data)
		h.rollOut()
	}
	h.source("settings", map[string]string{"level": "info", "region": "$(REGION)", "url": "$(URL)", "zone": "$(ZONE)"})
	hash := h.store()
	h.report(metav1.ConditionFalse, hubplan.ReasonStopped, "the rollout to Placement fleet stopped: 1 of 1 clusters of mandatory decision group canary "+
		"(index 0) failed, 0 tolerated; failed: cluster1 (ConfigMap settings, key zone, value ZONE: ManagedCluster cluster1 has no label zone, "+
		"and the value has no default)", func(s *v1alpha1.ConfigMapReplicaSetStatus) { s.UpdatedRevision = hash })
	h.Requests()
	return h
}

func TestHistory(t *testing.T) {
	h := threeRevisions(t)
	for file, args := range map[string][]string{
		"history.txt":          {"history", "settings"},
		"history-revision.txt": {"history", "settings", "--revision=2"},
		"history-revision.yaml": {"history", "settings", "--revision=" + h.set().Status.UpdatedRevision,
			"-o", "yaml"},
	} {
		stdout, stderr, err := h.run(args...)
		if err != nil || stderr != "" {
			t.Errorf("%v: stderr %q, error %v", args, stderr, err)
		}
		golden(t, file, h.scrub(stdout))
	}
	stdout, _, err := h.run("history", "settings", "-o", "json")
	var list struct {
		Kind  string
		Items []struct {
			Kind     string
			Revision int
			Data     struct{ ConfigMaps []struct{ Name string } }
		}
	}
	if err != nil || json.Unmarshal([]byte(stdout), &list) != nil || list.Kind != "List" || len(list.Items) != 3 ||
		list.Items[2].Kind != "ControllerRevision" || list.Items[2].Revision != 3 || list.Items[2].Data.ConfigMaps[0].Name != "settings" {
		t.Errorf("error %v, want a list of three: %s", err, stdout)
	}
	_, _, err = h.run("history", "settings", "--revision=4")
	expect(t, err, `revision 4 of configmapreplicaset "settings" is not kept`)
	if writes := h.writes(); writes != nil {
		t.Errorf("it writes: %v", writes)
	}
}

func TestHistoryIsEmpty(t *testing.T) {
	h := newHub(t)
	stdout, stderr, err := h.run("history", "settings")
	if err != nil || stdout != "" || stderr != "No revision of configmapreplicaset \"settings\" is stored.\n" {
		t.Errorf("stdout %q, stderr %q, error %v", stdout, stderr, err)
	}
}

package plan

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/manifests"
)

var scope = Scope{HubNamespace: configmaps.HubNamespace, InstallNamespace: configmaps.InstallNamespace}

// The fixtures of package configmaps.
var (
	configMap   = configmaps.New
	label       = configmaps.Label
	annotation  = configmaps.Annotation
	owned       = configmaps.Owned
	adopt       = configmaps.Adoptable
	optOut      = configmaps.OptOut
	immutable   = configmaps.Immutable
	terminating = configmaps.Terminating

	one = map[string]string{"k": "1"}
	two = map[string]string{"k": "2"}
)

func onHub(cm *corev1.ConfigMap) *Source {
	cm.Namespace, cm.UID, cm.ResourceVersion = scope.HubNamespace, types.UID("hub-"+cm.Name), "1"
	return NewSource(cm)
}

func onManaged(cm *corev1.ConfigMap) *Copy {
	cm.Namespace, cm.UID, cm.ResourceVersion = scope.InstallNamespace, types.UID("managed-"+cm.Name), "7"
	return scope.NewCopy(cm)
}

// TestDecide has the table of the package comment, row by row.
func TestDecide(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		source *corev1.ConfigMap
		target *corev1.ConfigMap
		want   Kind
	}{
		{"nothing anywhere", "an event about what is gone on both sides", nil, nil, Ignore},
		{"new source", "docs/design.md#rule-2-copy", configMap("a", one), nil, Create},
		{"in sync", "docs/design.md#rule-7-silence", configMap("a", one), configMap("a", one, owned), InSync},
		{"changed source", "one write", configMap("a", two), configMap("a", one, owned), Update},
		{"empty and absent data", "the API makes no difference", configMap("a", map[string]string{}), configMap("a", nil, owned), InSync},
		{"becomes immutable", "an update may set it", configMap("a", one, immutable), configMap("a", one, owned), Update},
		{"stays immutable", "in sync", configMap("a", one, immutable), configMap("a", one, owned, immutable), InSync},
		{"immutable data changed", "the API refuses an update", configMap("a", two, immutable), configMap("a", one, owned, immutable), Replace},
		{"mutable again", "the API refuses to take immutable back", configMap("a", one), configMap("a", one, owned, immutable), Replace},
		{"source gone", "docs/design.md#rule-5-prune", nil, configMap("a", one, owned), Delete},
		{"source opts out", "docs/design.md#rule-5-prune", configMap("a", one, optOut), configMap("a", one, owned), Delete},
		{"opted out, never copied", "docs/design.md#rule-1-source", configMap("a", one, optOut), nil, Ignore},
		{"sync label with another value", "only disabled opts out", configMap("a", one, label(manifests.SyncLabel, "yes")), nil, Create},
		{"foreign without source", "docs/design.md#rule-3-ownership", nil, configMap("a", one), Ignore},
		{"foreign in the way", "docs/design.md#rule-3-ownership", configMap("a", one), configMap("a", one), Conflict},
		{"foreign in the way, opted out", "nothing is wanted", configMap("a", one, optOut), configMap("a", one), Ignore},
		{"label alone", "both marks make a copy ours", configMap("a", one), configMap("a", one, label(manifests.ManagedByLabel, manifests.ManagedByAgent)), Conflict},
		{"source annotation alone", "both marks make a copy ours", nil, configMap("a", one, annotation(manifests.SourceAnnotation, "cluster1/a")), Ignore},
		{"copy of another cluster's agent", "two agents may share a namespace", nil,
			configMap("a", one, owned, annotation(manifests.SourceAnnotation, "cluster10/a")), Ignore},
		{"copy of another cluster's agent in the way", "two agents may share a namespace", configMap("a", one),
			configMap("a", one, owned, annotation(manifests.SourceAnnotation, "cluster10/a")), Conflict},
		{"given over", "docs/design.md#rule-3-ownership", configMap("a", one), configMap("a", two, adopt), Update},
		{"given over with the same content", "the marks are missing", configMap("a", one), configMap("a", one, adopt), Update},
		{"given over by another value", "only true gives over", configMap("a", one), configMap("a", one, annotation(manifests.AdoptAnnotation, "yes")), Conflict},
		{"given over, immutable", "the API refuses an update", configMap("a", one), configMap("a", two, adopt, immutable), Replace},
		{"given over, immutable with the same content", "an update may add the marks", configMap("a", one, immutable), configMap("a", one, adopt, immutable), Update},
		{"given over without source", "nothing to take it for", nil, configMap("a", one, adopt), Ignore},
		{"copy being deleted, wanted", "create when it is gone", configMap("a", one), configMap("a", one, owned, terminating), Wait},
		{"copy being deleted, unwanted", "it goes by itself", nil, configMap("a", one, owned, terminating), Ignore},
		{"root CA on the hub", "docs/design.md#rule-1-source", configMap("kube-root-ca.crt", one), nil, Ignore},
		{"root CA on both sides", "docs/design.md#rule-1-source", configMap("kube-root-ca.crt", one), configMap("kube-root-ca.crt", two, adopt), Ignore},
		{"root CA that looks owned", "docs/design.md#rule-1-source", nil, configMap("kube-root-ca.crt", two, owned), Ignore},
		{"service CA on the hub", "docs/design.md#rule-1-source", configMap("openshift-service-ca.crt", one), nil, Ignore},
		{"uninstall marker on the hub", "a copy would make the agent stop", configMap("helloworld-agent-uninstall", one), nil, Ignore},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var source *Source
			var target *Copy
			name := "a"
			if test.source != nil {
				name, source = test.source.Name, onHub(test.source)
			}
			if test.target != nil {
				name, target = test.target.Name, onManaged(test.target)
			}
			action := scope.Plan(name, source, target)
			if action.Kind != test.want {
				t.Errorf("got %s, want %s (%s)", action.Kind, test.want, test.reason)
			}
			if (action.Kind == Conflict || action.Kind == Wait) == (action.Reason == "") {
				t.Errorf("%s with reason %q", action.Kind, action.Reason)
			}
		})
	}
}

func TestWhatIsWritten(t *testing.T) {
	source := onHub(configMap("a", two, func(cm *corev1.ConfigMap) {
		cm.BinaryData = map[string][]byte{"b": {0, 1}}
		cm.Labels = map[string]string{"hub-only": "x"}
	}))
	foreign := func(cm *corev1.ConfigMap) {
		label("team", "blue")(cm)
		annotation("note", "keep")(cm)
		cm.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
		cm.Finalizers = []string{"example.com/hold"}
		cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"}}
	}
	fresh := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "copies",
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"},
			Annotations: map[string]string{"helloworld.open-cluster-management.io/source": "cluster1/a"},
		},
		Data: two, BinaryData: map[string][]byte{"b": {0, 1}},
	}
	if diff := cmp.Diff(Action{Kind: Create, Name: "a", Object: fresh}, scope.Plan("a", source, nil)); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}

	replaced := fresh.DeepCopy()
	replaced.Labels["team"], replaced.Annotations["note"] = "blue", "keep"
	replaced.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
	want := Action{Kind: Replace, Name: "a", Object: replaced, UID: "managed-a", ResourceVersion: "7"}
	target := onManaged(configMap("a", one, owned, foreign, immutable))
	if diff := cmp.Diff(want, scope.Plan("a", source, target)); diff != "" {
		t.Errorf("replace (-want +got):\n%s", diff)
	}

	updated := replaced.DeepCopy()
	updated.UID, updated.ResourceVersion, updated.Finalizers = "managed-a", "7", []string{"example.com/hold"}
	target = onManaged(configMap("a", one, owned, foreign))
	if diff := cmp.Diff(Action{Kind: Update, Name: "a", Object: updated}, scope.Plan("a", source, target)); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}

	remove := Action{Kind: Delete, Name: "a", UID: "managed-a", ResourceVersion: "7"}
	if diff := cmp.Diff(remove, scope.Plan("a", nil, target)); diff != "" {
		t.Errorf("delete (-want +got):\n%s", diff)
	}
}

// TestWhatIsKept: of the copies, which may be thousands, the cache keeps what a plan
// needs.
func TestWhatIsKept(t *testing.T) {
	managed := func(cm *corev1.ConfigMap) { cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"}} }
	id := Identity{Name: "a", Namespace: "copies", UID: "managed-a"}
	tests := []struct {
		name string
		cm   *corev1.ConfigMap
		want *Copy
	}{
		{"an object of others", configMap("a", one, label("team", "blue"), annotation("note", "long"), managed),
			&Copy{Identity: id, ResourceVersion: "7"}},
		{"a copy", configMap("a", one, owned, managed), &Copy{Identity: id, ResourceVersion: "7", Owned: true, Digest: DigestOf(one, nil)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, onManaged(test.cm)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := onManaged(configMap("a", one, owned, label("team", "blue"), managed)); got.Meta.ManagedFields != nil || got.Meta.Labels["team"] != "blue" {
		t.Errorf("of a copy with a label of others there is %+v", got.Meta)
	}
}

func TestDigestDistinguishesContents(t *testing.T) {
	contents := []*corev1.ConfigMap{
		configMap("a", nil),
		configMap("a", map[string]string{"ab": "c"}),
		configMap("a", map[string]string{"a": "bc"}),
		configMap("a", map[string]string{"a": "b", "c": "d"}),
		configMap("a", map[string]string{"a": "bcd"}),
		{BinaryData: map[string][]byte{"a": []byte("bc")}},
		{Data: map[string]string{"x": "y"}, BinaryData: map[string][]byte{"a": []byte("bc")}},
	}
	seen := map[Digest]int{}
	for i, content := range contents {
		digest := DigestOf(maps.Clone(content.Data), content.BinaryData)
		if other, ok := seen[digest]; ok {
			t.Errorf("contents %d and %d have one digest", other, i)
		}
		seen[digest] = i
	}
}

// TestConflictReason: which object on which cluster, and the command.
func TestConflictReason(t *testing.T) {
	const advice = ": delete it there, or hand it over to the add-on: " +
		"kubectl annotate configmap a -n copies helloworld.open-cluster-management.io/adopt=true"
	tests := []struct {
		name   string
		target *corev1.ConfigMap
		want   string
	}{
		{"not a copy", configMap("a", one), "ConfigMap copies/a on cluster cluster1 is not a copy" + advice},
		{"a managed-by label alone", configMap("a", one, label(manifests.ManagedByLabel, manifests.ManagedByAgent)),
			"ConfigMap copies/a on cluster cluster1 is not a copy" + advice},
		{"the copy of another cluster's source", configMap("a", one, owned, annotation(manifests.SourceAnnotation, "cluster2/a")),
			"ConfigMap copies/a on cluster cluster1 is the copy of cluster2/a" + advice},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			action := scope.Plan("a", NewSource(configMap("a", two)), scope.NewCopy(test.target))
			if diff := cmp.Diff(test.want, action.Reason); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

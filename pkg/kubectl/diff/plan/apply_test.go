package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestNewFile(t *testing.T) {
	const (
		plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {level: info}}"
		other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: c1}}"
		set   = "{apiVersion: helloworld.open-cluster-management.io/v1alpha1, kind: ConfigMapReplicaSet, metadata: {name: a}, spec: {}}"
	)
	for _, c := range []struct {
		name, reason string
		objects      []string
		enforced     bool
		want, err    string
	}{
		{"the two kinds", "those without a namespace get that of the kubeconfig", []string{plain, other, set}, false,
			"ConfigMap team/a, ConfigMap c1/a, ConfigMapReplicaSet team/a", ""},
		{"other kinds", "they are counted", []string{plain, "{apiVersion: v1, kind: Secret, metadata: {name: s}}", "{apiVersion: v1, kind: Secret, metadata: {name: t}}",
			"{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: fleet}}", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"}, false,
			"ConfigMap team/a; 1 Namespace, 1 Placement, 2 Secret; team/fleet; team", ""},
		{"another version", "it is another API", []string{plain, strings.Replace(set, "v1alpha1", "v2", 1)}, false, "ConfigMap team/a; 1 ConfigMapReplicaSet", ""},
		{"--namespace", "as in kubectl", []string{plain, other}, true, "",
			"ConfigMap c1/a is in namespace c1, and --namespace is team: name the same namespace, or leave the flag out"},
		{"twice", "which one counts is not known", []string{plain, strings.Replace(plain, "a}", "a, namespace: team}", 1)}, false, "", "ConfigMap team/a is there twice"},
		{"no name", "kubectl apply refuses it", []string{"{apiVersion: v1, kind: ConfigMap}"}, false, "", "a ConfigMap has no metadata.name"},
		{"a path as name", "it would be that of a Secret", []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: ../secrets/s}}"}, false, "", `a ConfigMap: the name "../secrets/s" is not valid: `},
		{"a path as namespace", "", []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ../x}}"}, false, "", `a ConfigMap: the namespace "../x" is not valid: `},
		{"generateName", "kubectl apply refuses it", []string{"{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}"}, false, "",
			"a ConfigMap has metadata.generateName a- and no name: kubectl apply needs a name"},
		{"a number", "a value is a string", []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: 1}}"}, false, "", "ConfigMap team/a is not valid: json: cannot unmarshal number"},
		{"several problems", "each is named", []string{"{apiVersion: v1, kind: ConfigMap}", other}, true, "", "a ConfigMap has no metadata.name\nConfigMap c1/a is in namespace c1"},
		{"nothing", "an empty file is a mistake", nil, false, "", "there are no objects in the files"},
		{"only others", "the question is about ConfigMaps", []string{"{apiVersion: v1, kind: Secret, metadata: {name: s}}"}, false, "",
			"there is no ConfigMap and no ConfigMapReplicaSet in the files, only 1 Secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var objects []*unstructured.Unstructured
			for _, text := range c.objects {
				objects = append(objects, object(t, text))
			}
			file, err := NewFile(objects, "team", c.enforced)
			hubobjects.CheckError(t, err, c.err)
			if err != nil {
				return
			}
			var names []string
			for _, o := range file.Objects {
				names = append(names, o.String())
			}
			got := strings.Join(names, ", ")
			if others := file.NotConsidered(); others != "" {
				got += "; " + others
			}
			for key := range file.Placements {
				got += "; " + key.String()
			}
			for name := range file.Namespaces {
				got += "; " + name
			}
			if got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}

// stored returns an object that was applied by kubectl, and then changed.
func stored(t *testing.T, applied string, change func(o *unstructured.Unstructured)) []byte {
	t.Helper()
	o := object(t, applied)
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(raw)})
	if change != nil {
		change(o)
	}
	if raw, err = o.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestNewApply compares with what "kubectl apply" does.
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-apply-calculates-differences-and-merges-changes
func TestNewApply(t *testing.T) {
	const (
		applied = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: c1}, data: {level: info, zone: a}}"
		set     = "{apiVersion: helloworld.open-cluster-management.io/v1alpha1, kind: ConfigMapReplicaSet, metadata: {name: a, namespace: team}, " +
			"spec: {configMaps: [{name: a}, {name: b}], paused: true}}"
	)
	byOther := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "kept", "data", "byOther")
	}
	for _, c := range []struct {
		name, reason string
		kind         schema.GroupVersionKind
		live         []byte
		desired      string
		want         string // the data or spec
		nothing      bool
	}{
		{"new", "it is created", ConfigMapKind, nil, applied, `{"level":"info","zone":"a"}`, false},
		{"as applied", "there is nothing to write", ConfigMapKind, stored(t, applied, nil), applied, `{"level":"info","zone":"a"}`, true},
		{"a key less", "what was applied and is no longer, is removed", ConfigMapKind, stored(t, applied, nil),
			strings.Replace(applied, ", zone: a", "", 1), `{"level":"info"}`, false},
		{"a key of another writer", "it stays", ConfigMapKind, stored(t, applied, byOther), strings.Replace(applied, "info", "debug", 1), `{"byOther":"kept","level":"debug","zone":"a"}`, false},
		{"never applied", "what is not in the file stays", ConfigMapKind, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"c1"},"data":{"old":"1"}}`),
			applied, `{"level":"info","old":"1","zone":"a"}`, false},
		{"a list of a set", "it is replaced as a whole, and a field that was applied is removed", SetKind, stored(t, set, nil), strings.Replace(strings.Replace(set, ", {name: b}", "", 1), ", paused: true", "", 1),
			`{"configMaps":[{"name":"a"}]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := object(t, c.desired).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			apply, err := NewApply(FileObject{Kind: c.kind, Key: Key{Namespace: "c1", Name: "a"}, Raw: raw}, c.live)
			if err != nil {
				t.Fatal(err)
			}
			var merged map[string]json.RawMessage
			if err := json.Unmarshal(apply.Merged, &merged); err != nil {
				t.Fatal(err)
			}
			got := string(merged["data"]) + string(merged["spec"])
			if diff := cmp.Diff(c.want, got); diff != "" || apply.Nothing != c.nothing || apply.Create != (c.live == nil) {
				t.Errorf("%s: nothing %t, create %t (-want +got):\n%s\n%s", c.reason, apply.Nothing, apply.Create, diff, apply.Body)
			}
			if !c.nothing && !strings.Contains(string(apply.Body), corev1.LastAppliedConfigAnnotation) {
				t.Errorf("the annotation of kubectl apply is not written: %s", apply.Body)
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	immutable := `{"data":{"a":"1"},"immutable":true}`
	for _, c := range []struct {
		name, reason, live, after, want string
	}{
		{"valid", "", "", `{"data":{"a":"1"}}`, ""},
		{"the largest", "keys do not count", "", fmt.Sprintf(`{"data":{"a":%q}}`, strings.Repeat("x", 1<<20)), ""},
		{"too large", "data and binaryData count together, decoded", "", fmt.Sprintf(`{"data":{"a":%q},"binaryData":{"b":"AAAA"}}`, strings.Repeat("x", 1<<20-2)),
			"it has 1048577 bytes, and may have at most 1048576"},
		{"immutable, same", "labels may change", immutable, `{"metadata":{"labels":{"a":"b"}},"data":{"a":"1"},"immutable":true}`, ""},
		{"immutable, data", "", immutable, `{"data":{"a":"2"},"immutable":true}`, "it is immutable"},
		{"immutable, the flag", "it cannot be taken off", immutable, `{"data":{"a":"1"}}`, "it is immutable"},
		{"becomes immutable", "", `{"data":{"a":"1"}}`, immutable, ""},
	} {
		if got := Invalid(FileObject{Kind: ConfigMapKind}, []byte(c.live), []byte(c.after)); got != c.want {
			t.Errorf("%s: got %q, want %q: %s", c.name, got, c.want, c.reason)
		}
	}
	if got := Advice(FileObject{Kind: ConfigMapKind, Key: Key{Namespace: "c1", Name: "a"}}, []byte(immutable)); got != ": delete it, and apply it again: kubectl delete configmap -n c1 a" {
		t.Errorf("the advice is %q", got)
	}
}

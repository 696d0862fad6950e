package ocm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

func TestRender(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"b.yaml": "kind: B\nmetadata: {name: {{ .ClusterManagerName }}}",
		"a.yaml": "kind: A\nmetadata:\n  labels:\n    {{ if gt (len .Labels) 0 }}x: y{{ end }}",
		"c.txt":  "{{ .NotAValue }}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := render(dir, defaultValues(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := apply.Decode(rendered)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	if diff := cmp.Diff([]string{"A ", "B cluster-manager"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := render(dir, defaultValues(), "*.txt"); err == nil {
		t.Error("a template that asks for a value that is not there was rendered")
	}
	if _, err := render(dir, defaultValues(), "missing/*.yaml"); err == nil || !strings.Contains(err.Error(), "build them again") {
		t.Errorf("render of nothing = %v", err)
	}
}

func TestMissingConditions(t *testing.T) {
	conditions := []metav1.Condition{
		{Type: "HubAcceptedManagedCluster", Status: metav1.ConditionTrue},
		{Type: "ManagedClusterJoined", Status: metav1.ConditionFalse},
	}
	want := []string{"ManagedClusterJoined", "ManagedClusterConditionAvailable"}
	if diff := cmp.Diff(want, missingConditions(conditions)); diff != "" {
		t.Error(diff)
	}
}

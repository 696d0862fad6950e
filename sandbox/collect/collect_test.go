package collect

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestRedact(t *testing.T) {
	for _, test := range []struct{ name, object, want string }{
		{"a Secret", "{kind: Secret, apiVersion: v1, data: {token: c2VjcmV0}, stringData: {a: bc}, type: Opaque}",
			"{kind: Secret, apiVersion: v1, data: {token: '(redacted: 6 bytes)'}, stringData: {a: '(redacted: 2 bytes)'}, type: Opaque}"},
		{"a Secret in a ManifestWork", "{kind: ManifestWork, spec: {workload: {manifests: [{kind: Secret, data: {token: c2VjcmV0}}]}}}",
			"{kind: ManifestWork, spec: {workload: {manifests: [{kind: Secret, data: {token: '(redacted: 6 bytes)'}}]}}}"},
		{"a copy by kubectl", "{kind: Secret, metadata: {name: a, annotations: {b: c, kubectl.kubernetes.io/last-applied-configuration: secret}}}",
			"{kind: Secret, metadata: {name: a, annotations: {b: c}}}"},
		{"field managers", "{kind: Pod, metadata: {name: a, managedFields: [{manager: x}]}}", "{kind: Pod, metadata: {name: a}}"},
		{"a ConfigMap", "{kind: ConfigMap, data: {a: b}}", "{kind: ConfigMap, data: {a: b}}"},
		{"a Secret without values", "{kind: Secret, data: null}", "{kind: Secret, data: null}"},
		{"a value that is no base64", "{kind: Secret, data: {a: '*'}}", "{kind: Secret, data: {a: '(redacted: 1 bytes)'}}"},
	} {
		var got, want any
		if err := errors.Join(yaml.Unmarshal([]byte(test.object), &got), yaml.Unmarshal([]byte(test.want), &want)); err != nil {
			t.Fatal(err)
		}
		redact(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestEventTable(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	object := corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "p"}
	got := eventTable([]corev1.Event{
		{Type: "Normal", Reason: "Later", EventTime: metav1.NewMicroTime(at.Add(time.Second)), InvolvedObject: object},
		{Type: "Warning", Reason: "Failed", Message: "two\nlines", Count: 3, LastTimestamp: metav1.NewTime(at), InvolvedObject: object},
		{Type: "Normal", Reason: "Joined", LastTimestamp: metav1.NewTime(at.Add(-time.Second)), ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
			InvolvedObject: corev1.ObjectReference{Kind: "ManagedCluster", Name: "c"}},
	})
	want := `2026-01-02T03:04:04Z  Normal   default  ManagedCluster/c  Joined   (1)
2026-01-02T03:04:05Z  Warning  ns       Pod/p             Failed  two lines (3)
2026-01-02T03:04:06Z  Normal   ns       Pod/p             Later    (1)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListable(t *testing.T) {
	list := metav1.Verbs{"get", "list"}
	got := listable([]*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Verbs: list}, {Name: "events", Verbs: list}, {Name: "bindings", Verbs: metav1.Verbs{"create"}}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Verbs: list}}},
	})
	want := []schema.GroupVersionResource{{Version: "v1", Resource: "pods"}, {Group: "apps", Version: "v1", Resource: "deployments"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRunWithoutClusters checks what is written when no API server answers, and that files are not replaced.
func TestRunWithoutClusters(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	options := Options{Dir: dir, To: to, Report: func(_ context.Context, out io.Writer) error {
		_, err := io.WriteString(out, "all is well\n")
		return err
	}}
	if err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "no sandbox in "+dir) {
		t.Errorf("Run = %v, want that there is no sandbox", err)
	}
	for file, content := range map[string]string{
		"sandbox.json":         `{"kind":"open-cluster-management-sandbox","clusters":["hub"],"hubs":1,"versions":["OCM v1.0.0"],"programs":"/programs"}`,
		"hub/logs/etcd.log":    "a line",
		"hub/logs/etcd.secret": "no log",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Run(t.Context(), options); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "read the kubeconfig of hub") {
		t.Errorf("Run = %v, want what could not be read", err)
	}
	about, err := os.ReadFile(filepath.Join(to, aboutFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"all is well", "not collected:\nread the kubeconfig of hub", "in place of the pinned one: OCM v1.0.0\n", "programs: /programs\n"} {
		if !strings.Contains(string(about), want) {
			t.Errorf("%s lacks %q:\n%s", aboutFile, want, about)
		}
	}
	if log, err := os.ReadFile(filepath.Join(to, "logs/hub/logs/etcd.log")); string(log) != "a line" {
		t.Errorf("the log: %q, %v", log, err)
	}
	if _, err := os.Stat(filepath.Join(to, "logs/hub/logs/etcd.secret")); err == nil {
		t.Error("a file is copied that is no log")
	}
	if err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "is not empty: name a new directory") {
		t.Errorf("Run into the same directory = %v", err)
	}
}

package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescribe(t *testing.T) {
	module := t.TempDir()
	goMod := "module m\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.1.0\n\tk8s.io/kubernetes v1.2.0\n\topen-cluster-management.io/ocm v1.3.0\n)\n"
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte(goMod), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		options Options
		want    []string
		problem string
	}{
		{"a module's pins", Options{Module: module}, []string{"OCM v1.3.0", "Kubernetes v1.2.0", "etcd v3.1.0"}, ""},
		{"built programs", Options{Out: "/p"}, []string{"OCM, Kubernetes and etcd: the programs in /p"}, ""},
		{"no module", Options{Module: t.TempDir()}, nil, "read the module that pins the programs"},
		{"no version", Options{Versions: Versions{OCM: "latest"}}, nil, "--ocm-version=latest: give a version such as"},
	} {
		got, err := Describe(test.options)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, %s", test.name, err, diff)
		}
	}
	chosen, err := Describe(Options{Versions: Versions{OCM: "v1.0.0", Kubernetes: "v1.33.9"}})
	if diff := cmp.Diff([]string{"OCM v1.0.0", "Kubernetes v1.33.9"}, chosen[:min(2, len(chosen))]); diff != "" || err != nil {
		t.Errorf("other versions than the pinned ones: %v, %s", err, diff)
	}
	embedded, err := Describe(Options{})
	if err != nil || !strings.HasPrefix(strings.Join(embedded, " "), "OCM v1.") || strings.Contains(strings.Join(embedded, " "), "unknown") {
		t.Errorf("the embedded pins: %q, %v", embedded, err)
	}
}

package build

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDerive(t *testing.T) {
	const kubernetes = `module k8s.io/kubernetes

go 1.24.0

require (
	github.com/a/b v1.0.0
	k8s.io/api v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	github.com/a/b => github.com/c/b v1.2.3
)
`
	for _, test := range []struct{ name, module, version, source, want string }{
		{"libraries of a repository", kubernetesModule, "v1.33.9", kubernetes, `module programs

go 1.24.0

require k8s.io/kubernetes v1.33.9

replace k8s.io/api => k8s.io/api v0.33.9

replace github.com/a/b => github.com/c/b v1.2.3
`},
		{"no replacements", ocmModule, "v1.0.0", "module open-cluster-management.io/ocm\n\ngo 1.23.6\n", `module programs

go 1.23.6

require open-cluster-management.io/ocm v1.0.0
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := derive(test.module, test.version, []byte(test.source))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := derive(ocmModule, "v1.0.0", []byte("no module")); err == nil {
		t.Error("derived from a file that is no go.mod")
	}
}

func TestVersionsAreRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"no versions", Options{Versions: Versions{OCM: "1.0.0", Kubernetes: "latest"}},
			[]string{"--ocm-version=1.0.0: give a version such as", "--kubernetes-version=latest: give a version such as"}},
		{"beside a module", Options{Versions: Versions{OCM: "v1.0.0"}, Module: "m"}, []string{"--ocm-version=v1.0.0: leave --module"}},
		{"beside a directory", Options{Versions: Versions{Kubernetes: "v1.33.9"}, Out: "p"}, []string{"--kubernetes-version=v1.33.9: leave --module"}},
		{"of a fleet's agents", Options{Versions: Versions{OCM: "v1.0.0"}, Fleet: true}, []string{"a fleet has the agents of the pinned version"}},
	} {
		_, err := Programs(t.Context(), test.options)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Programs = %v, want %q", test.name, err, want)
			}
		}
	}
}

// TestVersionsHaveTheirOwnDirectory checks that no version takes the place of another.
func TestVersionsHaveTheirOwnDirectory(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	seen := map[string]Versions{}
	for _, versions := range []Versions{{}, {OCM: "v1.0.0"}, {Kubernetes: "v1.0.0"}, {OCM: "v1.0.0", Kubernetes: "v1.0.0"}} {
		dir, err := directory("", "", versions)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[dir]; ok {
			t.Errorf("%v and %v are both in %s", versions, other, dir)
		}
		seen[dir] = versions
	}
}

// TestModuleOf checks that only the programs of a chosen version are built in its module.
func TestModuleOf(t *testing.T) {
	b := &builder{Options: Options{Module: "/m/module", Versions: Versions{Kubernetes: "v1.33.9"}}}
	for pkg, want := range map[string]string{
		"k8s.io/kubernetes/cmd/kube-apiserver":        "/m/module-kubernetes",
		"open-cluster-management.io/ocm/cmd/work":     "/m/module",
		"go.etcd.io/etcd/server/v3":                   "/m/module",
		"k8s.io/kubernetes-sigs/cmd/a-different-tool": "/m/module",
	} {
		dir, flags := b.moduleOf(pkg)
		if dir != want || (filepath.Base(dir) == "module") != (len(flags) == 0) {
			t.Errorf("%s is built in %s with the flags %v, want %s, and flags only if it is derived", pkg, dir, flags, want)
		}
	}
}

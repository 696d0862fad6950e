package ocm

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayout checks for some files of each version which of them a hub gets, and when.
func TestLayout(t *testing.T) {
	for _, test := range []struct {
		version, crd, rbac, webhook, neither string
		servers                              []string
	}{
		{version: "v1.0.0",
			crd:     "0000_01_addon.open-cluster-management.io_managedclusteraddons.crd.yaml",
			rbac:    "cluster-manager-registration-webhook-clusterrolebinding.yaml",
			webhook: "cluster-manager-registration-webhook-clustersetbinding-validatingconfiguration.yaml",
			neither: "cluster-manager-registration-webhook-service.yaml",
			servers: []string{"registration-webhook", "work-webhook"}},
		{version: "v1.2.1",
			crd:     "crds/0000_01_addon.open-cluster-management.io_managedclusteraddons.crd.yaml",
			rbac:    "registration/webhook-clusterrolebinding.yaml",
			webhook: "registration/webhook-clustersetbinding-validatingconfiguration.yaml",
			neither: "registration/webhook-service.yaml",
			servers: []string{"addon-webhook", "registration-webhook", "work-webhook"}},
	} {
		t.Run(test.version, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{test.crd, test.rbac, test.webhook, test.neither} {
				file := filepath.Join(dir, "cluster-manager/hub", name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			layout := layoutOf(dir)
			for want, patterns := range map[string][]string{test.crd: layout.crds, test.rbac: layout.rbac, test.webhook: layout.webhooks} {
				if diff := cmp.Diff([]string{want}, matches(t, dir, patterns)); diff != "" {
					t.Errorf("%v (-want +got):\n%s", patterns, diff)
				}
			}
			var servers []string
			for _, server := range layout.servers {
				servers = append(servers, server.name)
			}
			if diff := cmp.Diff(test.servers, servers); diff != "" {
				t.Errorf("webhook servers (-want +got):\n%s", diff)
			}
		})
	}
}

// matches returns the files of a hub that match the patterns.
func matches(t *testing.T, dir string, patterns []string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(filepath.Join(dir, "cluster-manager/hub"), file)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

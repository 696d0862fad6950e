// Package definitions finds the CustomResourceDefinitions of the kinds whose status a hub of hubs keeps, each in the Go
// module that owns it.
package definitions

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules are the files by the module that has them.
var modules = map[string][]string{
	"api": {
		"cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
		"cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml",
		"cluster/v1beta1/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml",
		"addon/v1alpha1/0000_01_addon.open-cluster-management.io_managedclusteraddons.crd.yaml",
	},
	"governance-policy-propagator": {"deploy/crds/policy.open-cluster-management.io_policies.yaml"},
	"multicloud-operators-subscription": {
		"deploy/hub-common/apps.open-cluster-management.io_placementrules_crd.yaml",
		"deploy/hub-common/apps.open-cluster-management.io_subscriptions_crd_v1.yaml",
		"deploy/hub-common/apps.open-cluster-management.io_subscriptionstatuses_crd_v1alpha1.yaml",
		"deploy/hub-common/apps.open-cluster-management.io_subscriptionreports_crd_v1alpha1.yaml",
	},
}

// Files returns the paths. Top is the project's directory; the modules' versions are those of hub-of-hubs-status-sync/test/crds in it.
func Files(ctx context.Context, top string) ([]string, error) {
	paths := []string{filepath.Join(top, "hub-of-hubs-status-sync", "deploy", "sync", "crd.yaml")}
	for name, files := range modules {
		dir, err := moduleDir(ctx, filepath.Join(top, "hub-of-hubs-status-sync", "test", "crds"), "open-cluster-management.io/"+name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			paths = append(paths, filepath.Join(dir, file))
		}
	}
	return paths, nil
}

// moduleDir returns where a module is, and downloads it if need be.
func moduleDir(ctx context.Context, in, module string) (string, error) {
	for _, args := range [][]string{{"mod", "download", module}, {"list", "-m", "-f", "{{.Dir}}", module}} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Stderr = in, os.Stderr
		output, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("find module %s: %w", module, err)
		}
		if dir := strings.TrimSpace(string(output)); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("module %s has no directory", module)
}

//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/helloworld-addon/pkg/hub/postgres/postgrestest"
)

// patience is far more than anything here takes, also on a machine that does
// something else.
const patience = 2 * time.Minute

// ownNamespace is where the programs are deployed.
const ownNamespace = "open-cluster-management"

// The servers of all tests that do not break theirs.
var (
	database *postgrestest.Server
	hub      *rest.Config
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if database, err = postgrestest.Use(ctx); err != nil {
		return 1, err
	}
	defer func() { err = firstOf(err, database.Stop()) }()

	crds, err := definitions()
	if err != nil {
		return 1, err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    os.Getenv("SANDBOX_PROGRAMS"),
		CRDInstallOptions:        envtest.CRDInstallOptions{Paths: crds, ErrorIfPathMissing: true},
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	if hub, err = environment.Start(); err != nil {
		return 1, fmt.Errorf("start a kube-apiserver of $SANDBOX_PROGRAMS=%q: %w", os.Getenv("SANDBOX_PROGRAMS"), err)
	}
	defer func() { err = firstOf(err, environment.Stop()) }()
	hub.QPS, hub.Burst = 1000, 2000
	if err := deploy(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// definitions are the files of the kinds, each from the module that owns it.
func definitions() ([]string, error) {
	const module = "open-cluster-management.io/"
	files := map[string][]string{
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
	paths := []string{"../../deploy/status-sync/crd.yaml"}
	for name, relative := range files {
		// The versions are those of the module crds.
		list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module+name)
		list.Dir = "crds"
		list.Stderr = os.Stderr
		out, err := list.Output()
		dir := strings.TrimSpace(string(out))
		if err != nil {
			return nil, fmt.Errorf("find module %s: %w", name, err)
		}
		if dir == "" {
			download := exec.Command("go", "mod", "download", module+name)
			download.Dir, download.Stderr = "crds", os.Stderr
			if err := download.Run(); err != nil {
				return nil, fmt.Errorf("download module %s: %w", name, err)
			}
			return definitions()
		}
		for _, file := range relative {
			paths = append(paths, filepath.Join(dir, file))
		}
	}
	return paths, nil
}

// deploy applies the RBAC of both programs; there are no pods here.
func deploy(ctx context.Context) error {
	admin, err := client.New(hub, client.Options{})
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(ownNamespace)
	if err := admin.Create(ctx, namespace); err != nil {
		return err
	}
	for _, program := range []string{"status-sync", "status-report"} {
		text, err := os.ReadFile(filepath.Join("../../deploy", program, "rbac.yaml"))
		if err != nil {
			return err
		}
		for _, part := range strings.Split(string(text), "---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
				return err
			}
			if err := admin.Create(ctx, object); err != nil {
				return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

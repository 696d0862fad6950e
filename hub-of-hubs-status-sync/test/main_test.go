//go:build postgres

package hubofhubs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/test/definitions"
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

	crds, err := definitions.Files(ctx, "../..")
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
	for _, program := range []string{"sync", "report"} {
		text, err := os.ReadFile(filepath.Join("../deploy", program, "rbac.yaml"))
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

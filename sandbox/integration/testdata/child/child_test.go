//go:build sandbox

// Package child is a package of tests for the tests of package sandboxtest, which run it in a process of its
// own.
package child

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	opts := []sandboxtest.Option{sandboxtest.Clusters(0), sandboxtest.HubAs("local-cluster")}
	if os.Getenv("CHILD_HUBS") != "" {
		opts = append(opts, sandboxtest.Hubs(2))
	}
	sandboxtest.Main(m, opts...)
}

// TestShared tells where the package's sandbox is.
func TestShared(t *testing.T) {
	tell(sandboxtest.Shared(t))
}

// TestFails asks for the sandbox twice, and fails.
func TestFails(t *testing.T) {
	tell(sandboxtest.Shared(t))
	tell(sandboxtest.Shared(t))
	t.Error("on purpose")
}

// TestPanics panics in a goroutine, so that no function of t.Cleanup runs.
func TestPanics(t *testing.T) {
	tell(sandboxtest.Shared(t))
	go func() { panic("on purpose") }()
	time.Sleep(time.Minute)
}

// TestSleeps waits to be killed.
func TestSleeps(t *testing.T) {
	tell(sandboxtest.Shared(t))
	time.Sleep(10 * time.Minute)
}

// TestBroken has an add-on with three faults: an image that does not exist, an agent that ends, and a
// Service that the managed cluster rejects.
func TestBroken(t *testing.T) {
	s := sandboxtest.Start(t, sandboxtest.Clusters(1), sandboxtest.Image("example.com/crash", sandboxtest.GoMain("../crash")))
	tell(s)
	s.Hub().ApplyFiles(t, ".")
	s.Enable(t, "broken", "cluster1")
	s.WaitAvailable(t, "broken", "cluster1")
}

func tell(s *sandboxtest.Sandbox) {
	fmt.Println("DIR", filepath.Dir(s.Hub().Kubeconfig()))
}

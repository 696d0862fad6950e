//go:build sandbox

// Package child is a package of tests for the tests of package sandboxtest, which run it in a process of its
// own.
package child

import (
	"context"
	"errors"
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
	s.Hub().ApplyFiles(t, "broken.yaml")
	s.Enable(t, "broken", "cluster1")
	s.WaitAvailable(t, "broken", "cluster1")
}

// TestStumbles has three tests that fail, each by a mistake in the test or in the add-on: an add-on that is neither
// applied nor enabled, a kind without a CRD, and an agent that panics while the test waits for what it does.
func TestStumbles(t *testing.T) {
	s := sandboxtest.Start(t, sandboxtest.Clusters(0), sandboxtest.HubAs("local-cluster"),
		sandboxtest.Image("example.com/crash", sandboxtest.GoMain("../crash")))
	tell(s)
	for name, stumble := range map[string]func(t *testing.T){
		"missing": func(t *testing.T) { s.WaitAvailable(t, "missing") },
		"kind": func(t *testing.T) {
			s.Hub().ApplyYAML(t, "{apiVersion: example.com/v1, kind: App, metadata: {name: one}}")
		},
		"panic": func(t *testing.T) {
			s.Hub().ApplyFiles(t, "panicking.yaml")
			s.Enable(t, "panicking")
			sandboxtest.Eventually(t, 20*time.Second, func(context.Context) error { return errors.New("the agent has reported nothing") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			t.Cleanup(func() { t.Logf("it took %s", time.Since(started).Round(time.Second)) })
			stumble(t)
		})
	}
}

func tell(s *sandboxtest.Sandbox) {
	fmt.Println("DIR", filepath.Dir(s.Hub().Kubeconfig()))
}

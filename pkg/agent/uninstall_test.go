package agent

import (
	"testing"
	"time"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestUninstallTellsTheHub: when every copy is removed the hub is told so at once,
// and the agent, which still runs, leaves that as it is.
func TestUninstallTellsTheHub(t *testing.T) {
	s := newSite(t)
	addOn := enabled()
	addOn.Finalizers = []string{"addon.open-cluster-management.io/addon-pre-delete"}
	s.hub.Put("managedclusteraddons", addOn)
	s.put(s.good())
	s.start()
	runtest.Eventually(t, "copied", func() bool { return s.copied("a") })
	s.hub.Remove("managedclusteraddons", "cluster1", "helloworld")

	s.uninstall()
	const want = "False/Uninstalled: every copy is removed"
	if got := s.condition(); got != want {
		t.Errorf("the condition is %q, want %q", got, want)
	}
	if s.copied("a") || s.managed.Get("leases", "default", "helloworld") != nil {
		t.Error("the copy or the lease is left behind")
	}
	// The agent looks at the add-on once more, and writes nothing.
	present := s.hub.Get("managedclusteraddons", "cluster1", "helloworld").(*addonv1alpha1.ManagedClusterAddOn)
	present.Labels = map[string]string{"looked": "at"}
	s.hub.Put("managedclusteraddons", present)
	time.Sleep(2500 * time.Millisecond) // twice the time that a report settles: something that must not happen
	if got := s.condition(); got != want {
		t.Errorf("the condition is %q after the agent's look, want %q", got, want)
	}
}

// uninstall runs the pre-delete hook to its end.
func (s *site) uninstall() {
	s.t.Helper()
	command := NewCommand()
	command.SetArgs([]string{"uninstall", "--cluster-name=cluster1", "--namespace=default",
		"--addon-uid=" + string(s.hub.Get("managedclusteraddons", "cluster1", "helloworld").GetUID()),
		"--kubeconfig=" + runtest.Kubeconfig(s.t, s.managed)})
	if err := command.ExecuteContext(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// TestUninstallInTheOwnNamespace: the agent refuses an install namespace with the
// cluster's own name. The hook accepts it, so that an agent of an earlier version can be
// disabled there (docs/design.md#rule-8-own-namespace).
func TestUninstallInTheOwnNamespace(t *testing.T) {
	options := &uninstallOptions{Options: NewOptions(), addOnUID: "u"}
	options.ClusterName, options.Namespace = "cluster1", "cluster1"
	if err := options.validate(); err != nil {
		t.Errorf("the hook refuses the namespace: %v", err)
	}
}

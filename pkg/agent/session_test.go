package agent

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// pair is a hub and a managed cluster with an agent at work.
type pair struct {
	t               *testing.T
	hub, managed    *fakeapi.Server
	health, metrics string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	return newPairWith(t, runtest.NewAPI(t))
}

func newPairWith(t *testing.T, hub *fakeapi.Server) *pair {
	t.Helper()
	hub.Put("configmapmirrors", newMirror())
	return &pair{t: t, hub: hub, managed: runtest.NewAPI(t), health: runtest.Address(t), metrics: runtest.Address(t)}
}

func (p *pair) start(flags ...string) {
	p.t.Helper()
	start(p.t, append([]string{"--cluster-name=cluster1", "--namespace=default",
		"--kubeconfig=" + runtest.Kubeconfig(p.t, p.managed), "--hub-kubeconfig=" + runtest.Kubeconfig(p.t, p.hub),
		"--health-bind-address=" + p.health, "--metrics-bind-address=" + p.metrics}, flags...)...)
}

func (p *pair) source(name string) {
	p.hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "cluster1"}})
}

func (p *pair) copied(name string) bool { return p.managed.Get("configmaps", "default", name) != nil }

// condition is "status/reason: message", empty where there is none.
func (p *pair) condition() string {
	addOn, ok := p.hub.Get("managedclusteraddons", "cluster1", "helloworld").(*addonv1alpha1.ManagedClusterAddOn)
	if !ok {
		return ""
	}
	c := meta.FindStatusCondition(addOn.Status.Conditions, "ConfigMapsSynced")
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason + ": " + c.Message
}

func (p *pair) reports(want string) {
	p.t.Helper()
	runtest.Eventually(p.t, want, func() bool { return p.condition() == want })
}

func TestReports(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.managed.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "default"}})
	p.source("a")
	p.source("settings")
	p.start()
	p.reports("False/Conflict: 1 of 2 ConfigMaps synced; conflict: settings")
	p.warned("settings", "CopyConflict", "ConfigMap default/settings on cluster cluster1 is not a copy: delete it there, "+
		"or hand it over to the add-on: kubectl annotate configmap settings -n default helloworld.open-cluster-management.io/adopt=true")
	code, body := runtest.Get(p.metrics, "/metrics")
	for _, want := range []string{
		`helloworld_agent_configmaps{state="conflict"} 1`, `helloworld_agent_configmaps{state="synced"} 1`,
		`helloworld_agent_configmaps{state="pending"} 0`, `helloworld_agent_configmaps{state="failed"} 0`,
		`helloworld_agent_writes_total{kind="create",result="success"} 1`, `helloworld_agent_sync_duration_seconds_count 1`,
		`helloworld_agent_last_success_timestamp_seconds `, `workqueue_depth{name="mirror"} 0`,
	} {
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	p.managed.Remove("configmaps", "default", "settings")
	p.reports("True/Synced: 2 of 2 ConfigMaps synced")
	if code, body := runtest.Get(p.metrics, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %s", body)
	}
}

// TestWritesNothingBeforeItHasReported: see gate.Check.
func TestWritesNothingBeforeItHasReported(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.source("a")
	var refuse = make(chan struct{})
	p.hub.Before = func(r fakeapi.Request) *apierrors.StatusError {
		select {
		case <-refuse:
			return nil
		default:
		}
		if r.Verb == "patch" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: r.Resource}, r.Name, nil)
		}
		return nil
	}
	p.start()
	runtest.Eventually(t, "says so", func() bool {
		_, body := runtest.Get(p.metrics, "/readyz")
		return strings.Contains(body, "[-] mirror: waiting for the first report to the hub")
	})
	if p.copied("a") {
		t.Error("copied before the report")
	}
	close(refuse)
	runtest.Eventually(t, "copied", func() bool { return p.copied("a") })
	p.reports("True/Synced: 1 of 1 ConfigMaps synced")
}

func TestNotEnabled(t *testing.T) {
	p := newPair(t)
	p.source("a")
	p.start()
	runtest.Eventually(t, "says so", func() bool {
		_, body := runtest.Get(p.metrics, "/readyz")
		return strings.Contains(body, "[-] mirror: the add-on is not enabled")
	})
	if p.copied("a") || p.managed.Get("leases", "default", "helloworld") != nil {
		t.Error("copied, or renewed the lease, without an add-on")
	}
	p.hub.Put("managedclusteraddons", enabled())
	runtest.Eventually(t, "copied", func() bool { return p.copied("a") })
}

// TestStopsWhenTheAddOnIsDeleted: a stopped agent does not restore the copies that the
// hook removes (docs/design.md#rule-6-uninstall).
func TestStopsWhenTheAddOnIsDeleted(t *testing.T) {
	p := newPair(t)
	addOn := enabled()
	addOn.Finalizers = []string{"addon.open-cluster-management.io/addon-pre-delete"}
	p.hub.Put("managedclusteraddons", addOn)
	p.source("a")
	// renewed every second
	p.start("--lease-duration=4s")
	runtest.Eventually(t, "copied", func() bool { return p.copied("a") })
	runtest.Eventually(t, "the lease", func() bool { return p.managed.Get("leases", "default", "helloworld") != nil })
	p.hub.Remove("managedclusteraddons", "cluster1", "helloworld")
	p.reports("False/Uninstalling: the add-on is being deleted: nothing is copied any more, and its pre-delete hook removes the copies")
	p.managed.Remove("configmaps", "default", "a")
	p.managed.Remove("leases", "default", "helloworld")
	p.source("late")
	p.stopped("after the add-on was deleted", "a", "late")
	time.Sleep(1500 * time.Millisecond) // more than a period: something that must not happen
	if p.managed.Get("leases", "default", "helloworld") != nil {
		t.Error("the lease came back while the hook removes it")
	}
	if code, body := runtest.Get(p.metrics, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready while it is uninstalled: %s", body)
	}
}

// TestStopsAtTheMarker: an agent whose view of the hub lags, so that the add-on still
// looks enabled, stops at the hook's marker and does not start again
// (docs/design.md#rule-6-uninstall).
func TestStopsAtTheMarker(t *testing.T) {
	const marker = "helloworld-agent-uninstall"
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.source("a")
	p.start()
	runtest.Eventually(t, "copied", func() bool { return p.copied("a") })
	uid := string(p.hub.Get("managedclusteraddons", "cluster1", "helloworld").GetUID())
	mark := func(uid string) {
		p.managed.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: marker, Namespace: "default",
			Labels: map[string]string{"helloworld.open-cluster-management.io/uninstall": uid}}})
	}
	mark("of-an-add-on-before")
	p.source("b")
	runtest.Eventually(t, "a marker that is not this add-on's is ignored", func() bool { return p.copied("b") })
	mark(uid)
	runtest.Eventually(t, "answered", func() bool {
		return p.managed.Get("configmaps", "default", marker).GetAnnotations()["helloworld.open-cluster-management.io/stopped"] == uid
	})
	p.managed.Remove("configmaps", "default", "a")
	p.managed.Remove("configmaps", "default", marker)
	p.source("late")
	p.stopped("after the marker", "a", "late")
}

// stopped checks that these names are not copied: they were given to the mirror
// before a change of the add-on that it has seen and reported.
func (p *pair) stopped(when string, names ...string) {
	p.t.Helper()
	runtest.Eventually(p.t, "the queue is empty", func() bool {
		_, body := runtest.Get(p.metrics, "/metrics")
		return strings.Contains(body, `workqueue_depth{name="mirror"} 0`) && strings.Contains(body, `workqueue_unfinished_work_seconds{name="mirror"} 0`)
	})
	addOn := p.hub.Get("managedclusteraddons", "cluster1", "helloworld").(*addonv1alpha1.ManagedClusterAddOn)
	addOn.Status.Conditions = nil
	p.hub.Put("managedclusteraddons", addOn)
	runtest.Eventually(p.t, "reported anew", func() bool { return strings.HasPrefix(p.condition(), "False/Uninstalling: ") })
	for _, name := range names {
		if p.copied(name) {
			p.t.Errorf("%s was copied %s", name, when)
		}
	}
}

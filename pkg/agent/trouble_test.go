package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// copyOf is a copy of this name with data of its own.
func copyOf(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default",
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "helloworld-agent"},
		Annotations: map[string]string{"helloworld.open-cluster-management.io/source": "cluster1/" + name}},
		Data: map[string]string{"k": value}}
}

// warned waits for an event on a ConfigMap on the hub.
func (p *pair) warned(name, reason, message string) {
	p.t.Helper()
	var seen []string
	runtest.Eventually(p.t, reason+" on "+name, func() bool {
		seen = nil
		for _, object := range p.hub.List("events", "cluster1") {
			event := object.(*corev1.Event)
			seen = append(seen, fmt.Sprintf("%s on %s: %s", event.Reason, event.InvolvedObject.Name, event.Message))
			if event.InvolvedObject.Name == name && event.Reason == reason && event.Message == message {
				return true
			}
		}
		return false
	}, func() string { return strings.Join(seen, "\n") })
}

func (p *pair) measures(metric string) {
	p.t.Helper()
	if _, body := runtest.Get(p.metrics, "/metrics"); !strings.Contains(body, metric) {
		p.t.Errorf("metrics have no %s", metric)
	}
}

// TestContestIsReported: readiness and the lease are untouched.
func TestContestIsReported(t *testing.T) {
	const reason = "another writer keeps changing or deleting ConfigMap default/a on cluster cluster1, which is put back at most once a second, " +
		"and in the end once a minute: stop that writer, or stop the copying: kubectl label configmap a -n cluster1 " +
		"helloworld.open-cluster-management.io/sync=disabled (on the hub)"
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.source("a")
	p.source("b")
	p.start("--lease-duration=4s")
	p.reports("True/Synced: 2 of 2 ConfigMaps synced")
	runtest.Start(t, func(ctx context.Context) error {
		for ctx.Err() == nil {
			if cm, ok := p.managed.Get("configmaps", "default", "a").(*corev1.ConfigMap); ok && len(cm.Data) == 0 {
				p.managed.Put("configmaps", copyOf("a", "theirs"))
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	p.reports("False/Contested: 1 of 2 ConfigMaps synced; contested: a: " + reason)
	p.warned("a", "CopyContested", reason)
	p.measures(`helloworld_agent_configmaps{state="contested"} 1`)
	if code, body := runtest.Get(p.health, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %s", body)
	}
	before := p.managed.Get("leases", "default", "helloworld").GetResourceVersion()
	runtest.Eventually(t, "the lease is renewed", func() bool {
		return p.managed.Get("leases", "default", "helloworld").GetResourceVersion() != before
	})
}

// TestHeldDeletionsAreReported: and carried out when the ManagedClusterAddOn
// releases them.
func TestHeldDeletionsAreReported(t *testing.T) {
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		p.managed.Put("configmaps", copyOf(name, "1"))
	}
	p.source("new")
	p.start("--deletion-hold=1h")
	runtest.Eventually(t, "DeletionHeld", func() bool {
		return strings.HasPrefix(p.condition(), "False/DeletionHeld: 1 of 1 ConfigMaps synced; deletion of 4 copies held until ") &&
			strings.HasSuffix(p.condition(), "(to delete them now: kubectl annotate managedclusteraddon helloworld -n cluster1 "+
				"helloworld.open-cluster-management.io/release-deletions=true): a, b, c, d")
	}, p.condition)
	p.measures(`helloworld_agent_configmaps{state="held"} 4`)
	for _, name := range names {
		if !p.copied(name) {
			t.Errorf("copy %s was deleted", name)
		}
	}
	if code, body := runtest.Get(p.health, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %s", body)
	}
	addOn := p.hub.Get("managedclusteraddons", "cluster1", "helloworld")
	addOn.SetAnnotations(map[string]string{"helloworld.open-cluster-management.io/release-deletions": "true"})
	p.hub.Put("managedclusteraddons", addOn)
	p.reports("True/Synced: 1 of 1 ConfigMaps synced")
	for _, name := range names {
		if p.copied(name) {
			t.Errorf("copy %s is still there", name)
		}
	}
}

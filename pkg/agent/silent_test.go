package agent

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestInSyncIsSilent: while nothing changes the agent sends no request but its watches
// and the lease's renewals (docs/design.md#rule-7-silence). The test counts time in
// renewals.
func TestInSyncIsSilent(t *testing.T) {
	const renewals = 6
	p := newPair(t)
	p.hub.Put("managedclusteraddons", enabled())
	p.source("a")
	p.source("theirs")
	p.managed.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: "default"}})
	// renewed every second
	p.start("--lease-duration=4s")
	p.reports("False/Conflict: 1 of 2 ConfigMaps synced; conflict: theirs")
	runtest.Eventually(t, "the event about the conflict", func() bool {
		for _, r := range p.hub.Requests() {
			if r.Resource == "events" {
				return true
			}
		}
		return false
	})
	p.mirrored("1 of 2: theirs Conflict")
	p.hub.Requests()
	p.managed.Requests()
	renewed := 0
	others := func(side string, requests []fakeapi.Request) {
		for _, r := range requests {
			switch {
			case r.Resource == "leases":
				renewed++
			case r.Verb != "watch":
				t.Errorf("%s: %s, though nothing has changed", side, r)
			}
		}
	}
	runtest.Eventually(t, "renewals", func() bool {
		others("managed cluster", p.managed.Requests())
		return renewed >= renewals
	})
	others("hub", p.hub.Requests())
}

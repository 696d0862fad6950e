package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// TestAnnounces: a state is told once; a bad one that lasts is told again before
// API servers forget it; a good one is silent.
func TestAnnounces(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var state credentials.State
	var told []string
	a := newAnnouncer(func() credentials.State { return state }, clock, func(kind, reason, _ string) {
		if kind == corev1.EventTypeWarning {
			reason += "!"
		}
		told = append(told, reason)
	})
	waiting := credentials.State{Reason: credentials.SecretMissing, Bad: true}
	connected := credentials.State{Reason: credentials.HubConnected}
	for _, step := range []struct {
		state credentials.State
		after time.Duration
	}{
		{credentials.State{}, 0}, {waiting, 0}, {waiting, time.Minute}, {waiting, time.Hour}, {waiting, time.Minute},
		{connected, 0}, {connected, 24 * time.Hour}, {credentials.State{}, 0}, {connected, 0}, {waiting, 0},
	} {
		state = step.state
		clock.SetTime(clock.Now().Add(step.after))
		a.step(klog.Background())
	}
	want := []string{"SecretMissing!", "SecretMissing!", "HubConnected", "SecretMissing!"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

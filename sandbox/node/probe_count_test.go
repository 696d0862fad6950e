package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestProbeDelay(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name            string
		kind            probeKind
		initial, period int32
		running, want   time.Duration
	}{
		{"readiness is looked at as soon as the container runs", readinessProbe, 0, 10, 0, 0},
		{"startup too", startupProbe, 0, 10, second, 0},
		{"not before the initial delay", readinessProbe, 5, 10, 2 * second, 3 * second},
		{"liveness only at a tick, so that a program that is starting does not fail it", livenessProbe, 0, 10, 0, 10 * second},
		{"at the next tick after a startup probe", livenessProbe, 0, 10, 12 * second, 8 * second},
		{"a tick that is now has passed", livenessProbe, 0, 10, 10 * second, 10 * second},
		{"at the first tick after the initial delay", livenessProbe, 15, 10, 0, 20 * second},
		{"at the initial delay where that is a tick", livenessProbe, 20, 10, second, 19 * second},
		{"no period is a second", livenessProbe, 0, 0, 0, second},
	} {
		probe := &corev1.Probe{InitialDelaySeconds: test.initial, PeriodSeconds: test.period}
		if got := probeDelay(test.kind, probe, test.running); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

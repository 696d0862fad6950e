package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestProbeDelay(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name            string
		kind            ProbeKind
		initial, period int32
		running, want   time.Duration
	}{
		{"readiness is looked at as soon as the container runs", ReadinessProbe, 0, 10, 0, 0},
		{"startup too", StartupProbe, 0, 10, second, 0},
		{"not before the initial delay", ReadinessProbe, 5, 10, 2 * second, 3 * second},
		{"liveness only at a tick, so that a program that is starting does not fail it", LivenessProbe, 0, 10, 0, 10 * second},
		{"at the next tick after a startup probe", LivenessProbe, 0, 10, 12 * second, 8 * second},
		{"a tick that is now has passed", LivenessProbe, 0, 10, 10 * second, 10 * second},
		{"at the first tick after the initial delay", LivenessProbe, 15, 10, 0, 20 * second},
		{"at the initial delay where that is a tick", LivenessProbe, 20, 10, second, 19 * second},
		{"no period is a second", LivenessProbe, 0, 0, 0, second},
	} {
		probe := &corev1.Probe{InitialDelaySeconds: test.initial, PeriodSeconds: test.period}
		if got := ProbeDelay(test.kind, probe, test.running); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestCommandResult(t *testing.T) {
	for _, test := range []struct {
		exit         Exit
		output, want string
	}{
		{Exit{}, "fine", ""},
		{Exit{Code: 1}, "cannot open /tmp/healthy", "cannot open /tmp/healthy"},
		{Exit{Code: 3}, "", "exit code 3"},
		{Exit{Signal: 9}, "", "exit code 137"},
	} {
		got := ""
		if err := CommandResult(test.exit, test.output); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v, %q: %q, want %q", test.exit, test.output, got, test.want)
		}
	}
}

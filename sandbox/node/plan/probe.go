package plan

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ProbeKind is the kind of a probe, as in kubelet's messages.
type ProbeKind string

const (
	StartupProbe   ProbeKind = "Startup"
	LivenessProbe  ProbeKind = "Liveness"
	ReadinessProbe ProbeKind = "Readiness"
)

// ProbeCount turns single probes into a result. By kubelet's rule, the result changes
// after as many equal probes in a row as the threshold requires.
type ProbeCount struct {
	// Result is the result so far; it is valid once Decided is true.
	Result, Decided bool
	last            bool
	inRow           int32
}

// Add returns the count after one more probe.
func (p ProbeCount) Add(ok bool, probe *corev1.Probe) ProbeCount {
	if p.inRow > 0 && p.last == ok {
		p.inRow++
	} else {
		p.inRow = 1
	}
	p.last = ok
	threshold := probe.FailureThreshold
	if ok {
		threshold = probe.SuccessThreshold
	}
	if p.inRow >= max(threshold, 1) {
		p.Result, p.Decided = ok, true
	}
	return p
}

// ProbeDelay returns the delay before the first probe of a container that has been
// running for the given time. kubelet probes liveness at ticks of the period only,
// and readiness and startup also as soon as the container runs:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/prober/worker.go
// So, for example, a liveness probe every 10 s does not fail while the program starts.
func ProbeDelay(kind ProbeKind, probe *corev1.Probe, running time.Duration) time.Duration {
	initial := time.Duration(probe.InitialDelaySeconds) * time.Second
	if kind != LivenessProbe {
		return max(initial-running, 0)
	}
	period := ProbePeriod(probe)
	tick := running.Truncate(period) + period
	return max(tick, (initial+period-1).Truncate(period)) - running
}

// ProbePeriod returns the time between two probes, at least a second.
func ProbePeriod(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

// ProbePort returns the number of a port, which may be given by its name.
func ProbePort(c corev1.Container, port intstr.IntOrString) (int, error) {
	number := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				number = int(p.ContainerPort)
			}
		}
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("port %q is neither a number nor the name of a port of container %q", port.String(), c.Name)
	}
	return number, nil
}

// ProbeCommand returns the command of an exec probe. As in kubelet, $(NAME) is expanded by
// the values that the container's spec has itself.
func ProbeCommand(c corev1.Container, action *corev1.ExecAction) []string {
	vars := map[string]string{}
	for _, v := range c.Env {
		vars[v.Name] = v.Value
	}
	return expandAll(action.Command, vars)
}

// CommandResult returns the error of a command in a container, nil for exit code 0. As in
// kubelet, its text is the command's output.
func CommandResult(exit Exit, output string) error {
	code := ExitCode(exit)
	switch {
	case code == 0:
		return nil
	case output == "":
		return fmt.Errorf("exit code %d", code)
	}
	return errors.New(output)
}

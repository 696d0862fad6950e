package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probeCount turns single probes into a result by kubelet's rule: as many in a
// row as the threshold says.
type probeCount struct {
	// Result is what the probe says so far; it is valid when Decided is true.
	Result, Decided bool
	last            bool
	inRow           int32
}

// add counts one probe.
func (p probeCount) add(ok bool, probe *corev1.Probe) probeCount {
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

// probeDelay returns how long to wait before the first probe of a container that
// has been running for a time. kubelet probes liveness at ticks of the period
// alone, and readiness and startup also as soon as the container runs:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/prober/worker.go
// So a liveness probe every 10 s does not fail because the program is starting.
func probeDelay(kind probeKind, probe *corev1.Probe, running time.Duration) time.Duration {
	initial := time.Duration(probe.InitialDelaySeconds) * time.Second
	if kind != livenessProbe {
		return max(initial-running, 0)
	}
	period := probePeriod(probe)
	tick := running.Truncate(period) + period
	return max(tick, (initial+period-1).Truncate(period)) - running
}

func probePeriod(probe *corev1.Probe) time.Duration {
	return time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
}

// probePort is the number of a port that may be given by its name.
func probePort(c corev1.Container, port intstr.IntOrString) (int, error) {
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

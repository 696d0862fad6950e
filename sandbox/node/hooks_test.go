package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// program is what a test's further program does: it ends when the test says so, or with
// its context.
func program(results <-chan plan.Exit) func(context.Context, Exec) (plan.Exit, error) {
	return func(ctx context.Context, _ Exec) (plan.Exit, error) {
		select {
		case exit := <-results:
			return exit, nil
		case <-ctx.Done():
			return plan.Exit{Code: 137}, nil
		}
	}
}

func execHook(command ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}

// signals waits until the process has got these.
func (b *bench) signals(want string) func() error {
	return func() error {
		if got := b.runtime.last().told(); got != want {
			return errors.New(got)
		}
		return nil
	}
}

func hookBench(t *testing.T, lifecycle *corev1.Lifecycle) (*bench, chan plan.Exit) {
	t.Helper()
	pod := appPod()
	pod.Spec.Containers[0].Lifecycle = lifecycle
	b := newBench(t, pod)
	results := make(chan plan.Exit)
	b.runtime.exec = program(results)
	b.run()
	return b, results
}

func TestWorkerRunsPreStopBeforeTerm(t *testing.T) {
	b, results := hookBench(t, &corev1.Lifecycle{PreStop: execHook("drain")})
	b.until("started", b.isRunning())
	b.worker.terminate(20 * time.Second)
	b.clock.Step(time.Second)
	b.until("the hook runs, and nothing was signaled", b.signals("[]"))
	results <- plan.Exit{}
	b.until("SIGTERM after the hook", b.signals("[terminated]"))
	b.stepUntil("SIGKILL at the end of the grace period", b.signals("[terminated killed]"))
	if ran := b.clock.Since(noon); ran < 20*time.Second || ran > 22*time.Second {
		t.Errorf("killed after %s, want 20 s: the hook's time is part of the grace period", ran)
	}
	if b.told(reasonPreStop) {
		t.Error("an event about a hook that succeeded")
	}
}

func TestWorkerPreStopFailsOrTakesTooLong(t *testing.T) {
	b, results := hookBench(t, &corev1.Lifecycle{PreStop: execHook("drain")})
	b.until("started", b.isRunning())
	b.worker.terminate(20 * time.Second)
	results <- plan.Exit{Code: 1}
	b.until("SIGTERM although the hook failed", b.signals("[terminated]"))
	if !b.told("FailedPreStopHook PreStopHook failed") {
		t.Error("no event")
	}

	b, _ = hookBench(t, &corev1.Lifecycle{PreStop: execHook("drain")})
	b.until("started", b.isRunning())
	b.worker.terminate(20 * time.Second)
	b.stepUntil("SIGTERM when the hook's time is over", b.signals("[terminated]"))
	if ran := b.clock.Since(noon); ran < 20*time.Second {
		t.Errorf("SIGTERM after %s, want 20 s", ran)
	}
	began := b.clock.Now()
	b.stepUntil("SIGKILL", b.signals("[terminated killed]"))
	if least := b.clock.Since(began); least < leastGrace-time.Second {
		t.Errorf("SIGKILL %s after SIGTERM, want %s", least, leastGrace)
	}
}

func TestWorkerSkipsPreStopWithoutGrace(t *testing.T) {
	b, _ := hookBench(t, &corev1.Lifecycle{PreStop: execHook("drain")})
	b.until("started", b.isRunning())
	b.worker.terminate(0)
	b.until("killed at once", b.signals("[terminated killed]"))
}

func TestWorkerRunsPostStart(t *testing.T) {
	b, results := hookBench(t, &corev1.Lifecycle{PostStart: execHook("warm-up")})
	b.until("starts", b.starts(1))
	b.until("reported as waiting", b.container("waiting", func(s corev1.ContainerStatus) bool {
		return s.ContainerID != "" && !s.Ready && s.State.Waiting != nil && s.State.Waiting.Reason == plan.ReasonContainerCreating
	}))
	results <- plan.Exit{}
	b.until("running after the hook", b.container("running", func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && s.Ready
	}))
	if b.runtime.count() != 1 || b.told(reasonPostStart) {
		t.Error("it was started again, or there is an event")
	}
}

func TestWorkerKillsAfterFailedPostStart(t *testing.T) {
	b, results := hookBench(t, &corev1.Lifecycle{PostStart: execHook("warm-up")})
	results <- plan.Exit{Code: 1}
	b.until("killed", b.signals("[terminated]"))
	if !b.told("FailedPostStartHook PostStartHook failed") {
		t.Error("no event")
	}
	b.runtime.last().exit <- plan.Exit{Code: 143}
	b.until("restarted", b.starts(2))
}

func TestWorkerExecProbe(t *testing.T) {
	pod := appPod()
	probe := &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2, SuccessThreshold: 1,
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check", "$(WHAT)"}}}}
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "WHAT", Value: "it"}}
	c.ReadinessProbe, c.LivenessProbe = probe, probe.DeepCopy()
	b := newBench(t, pod)
	var mu sync.Mutex
	var result error
	runs := 0
	answer := func(err error) { mu.Lock(); result, runs = err, 0; mu.Unlock() }
	b.runtime.exec = func(_ context.Context, e Exec) (plan.Exit, error) {
		if got := strings.Join(e.Args, " "); got != "check it" {
			t.Errorf("the probe runs %q", got)
		}
		mu.Lock()
		err := result
		runs++
		mu.Unlock()
		if errors.Is(err, errUnhealthy) {
			_, _ = io.WriteString(e.Stderr, "it is ill")
			return plan.Exit{Code: 1}, nil
		}
		return plan.Exit{}, err
	}
	b.run()
	b.stepUntil("ready", b.container("ready", func(s corev1.ContainerStatus) bool { return s.Ready }))
	answer(&ProgramError{Code: 127, Err: errors.New("no such program")})
	b.stepUntil("a program that cannot be run is told", func() error {
		if !b.told("Unhealthy Readiness probe errored and resulted in unknown state: no such program") {
			return errors.New("no event")
		}
		return nil
	})
	b.stepUntil("it is tried again", func() error {
		mu.Lock()
		defer mu.Unlock()
		if runs < 10 {
			return fmt.Errorf("%d runs", runs)
		}
		return nil
	})
	b.until("that is no result", b.signals("[]"))
	answer(errUnhealthy)
	b.stepUntil("killed", b.signals("[terminated]"))
	if !b.told("Unhealthy Liveness probe failed: it is ill") {
		t.Error("no event")
	}
}

var errUnhealthy = errors.New("unhealthy")

func TestExecOnceTimesOut(t *testing.T) {
	p := &fakeProcess{exec: program(nil)}
	probe := &corev1.Probe{TimeoutSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "10"}}}}
	err := probeOnce(t.Context(), probe, probeTarget{process: p})
	if want := `command timed out: "sleep 10": timed out after 1s`; err == nil || err.Error() != want || errors.As(err, new(*notRunError)) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHTTPHook(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.UserAgent() + " " + r.URL.Path
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	number, _ := strconv.Atoi(port)
	for _, scheme := range []corev1.URIScheme{corev1.URISchemeHTTP, corev1.URISchemeHTTPS} {
		hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/stop", Scheme: scheme, Port: intstr.FromInt(number)}}
		if err := runHook(t.Context(), nil, hook, probeTarget{podIP: host}); err != nil {
			t.Errorf("%s: a response of any status is a success: %v", scheme, err)
		}
		if got := <-asked; got != "kube-lifecycle/sandbox /stop" {
			t.Errorf("%s: asked %q", scheme, got)
		}
	}
	server.Close()
	hook := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(number)}}
	if err := runHook(t.Context(), nil, hook, probeTarget{podIP: host}); err == nil {
		t.Error("nobody answers, and the hook succeeds")
	}
}

func TestSleepHook(t *testing.T) {
	b, _ := hookBench(t, &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}})
	b.until("started", b.isRunning())
	b.worker.terminate(20 * time.Second)
	b.stepUntil("SIGTERM", b.signals("[terminated]"))
	if slept := b.clock.Since(noon); slept < 5*time.Second || slept > 7*time.Second {
		t.Errorf("SIGTERM after %s, want 5 s", slept)
	}
}

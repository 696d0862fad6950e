//go:build sandbox

package node

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *cluster) testAttach(t *testing.T) {
	c.create(t, "ticks", podSpec("tick"))
	talks := podSpec("cat")
	talks.Containers[0].Stdin, talks.Containers[0].StdinOnce = true, true
	talks.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, "talks", talks)
	c.running(t, "ticks")
	c.running(t, "talks")
	for name, protocol := range protocols {
		ctx, cancel := context.WithCancel(t.Context())
		screen := &transcript{}
		cmd := c.kubectlCommand(ctx, protocol, "attach", "ticks")
		cmd.Stdout, cmd.Stderr = screen, screen
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+": the output from now on", func() error { return screen.shows("\ntick 1") })
		if screen.shows("probe: tick") == nil {
			t.Errorf("%s: attach shows output from before", name)
		}
		cancel()
		_ = cmd.Wait()
	}
	if got := c.execute(t, protocols["WebSocket"], strings.NewReader("hello\n"), "attach", "-i", "talks"); got.code != 0 || !strings.Contains(got.stdout, "hello\n") {
		t.Errorf("attach -i: %+v", got)
	}
	eventually(t, "the program's input has ended with the first client", func() error {
		if phase := c.get(t, "talks").Status.Phase; phase != corev1.PodSucceeded {
			return fmt.Errorf("phase %s", phase)
		}
		return nil
	})
}

func execAction(args ...string) *corev1.ExecAction {
	return &corev1.ExecAction{Command: append([]string{probeProgram}, args...)}
}

func (c *cluster) testExecProbe(t *testing.T) {
	spec := podSpec("serve", "8080")
	main := &spec.Containers[0]
	main.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 3,
		ProbeHandler: corev1.ProbeHandler{Exec: execAction("ask", "http://127.0.0.1:8080/")}}
	main.LivenessProbe = main.ReadinessProbe.DeepCopy()
	main.StartupProbe = main.ReadinessProbe.DeepCopy()
	c.create(t, "exec-probe", spec)
	c.running(t, "exec-probe")
	served(t, c.get(t, "exec-probe").Status.PodIP+":8080", "/fail")
	eventually(t, "the container is restarted", func() error {
		if s := c.get(t, "exec-probe").Status.ContainerStatuses[0]; s.RestartCount != 1 || !s.Ready {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	c.event(t, "exec-probe", "Unhealthy", "Liveness probe failed: probe: ask")

	hangs := podSpec("serve", "8080")
	hangs.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 1,
		ProbeHandler: corev1.ProbeHandler{Exec: execAction("sleep", "3599")}}
	c.create(t, "probe-hangs", hangs)
	c.event(t, "probe-hangs", "Unhealthy", `Readiness probe failed: command timed out: "probe sleep 3599": timed out after 1s`)
	if got := programs(t, "sleep 3599"); got > 1 {
		t.Errorf("%d programs of the probe run, want no more than 1", got)
	}
	c.gone(t, "probe-hangs")
	eventually(t, "no program of the probe is left", func() error { return wantPrograms(t, "sleep 3599", 0) })
}

// gone deletes a pod and returns how long that took.
func (c *cluster) gone(t *testing.T, name string) time.Duration {
	t.Helper()
	began := time.Now()
	if err := c.client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, name+" is gone", func() error {
		pod, err := c.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%+v, %w", pod.Status, io.ErrNoProgress)
	})
	return time.Since(began)
}

func (c *cluster) testHooks(t *testing.T) {
	spec := podSpec("serve", "8080")
	grace := int64(20)
	spec.TerminationGracePeriodSeconds = &grace
	spec.Containers[0].Lifecycle = &corev1.Lifecycle{
		PostStart: &corev1.LifecycleHandler{Exec: execAction("sleep", "1")},
		PreStop:   &corev1.LifecycleHandler{Exec: execAction("sleep", "3")},
	}
	c.create(t, "hooks", spec)
	c.running(t, "hooks")
	if took := c.gone(t, "hooks"); took < 3*time.Second || took > 15*time.Second {
		t.Errorf("the pod was gone after %s, want the 3 s of the hook, and not the grace period of 20 s", took)
	}

	slow := podSpec("serve", "8080")
	slow.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3}}}
	c.create(t, "sleeps", slow)
	c.running(t, "sleeps")
	if took := c.gone(t, "sleeps"); took < 3*time.Second {
		t.Errorf("the pod was gone after %s, want the 3 s of the hook", took)
	}

	failing := podSpec("serve", "8080")
	failing.Containers[0].Lifecycle = &corev1.Lifecycle{
		PostStart: &corev1.LifecycleHandler{Exec: execAction("exit", "1")},
		PreStop:   &corev1.LifecycleHandler{Exec: execAction("exit", "1")},
	}
	c.create(t, "post-start-fails", failing)
	c.event(t, "post-start-fails", "FailedPostStartHook", "PostStartHook failed")
	c.event(t, "post-start-fails", "FailedPreStopHook", "PreStopHook failed")
	c.event(t, "post-start-fails", "Killing", "FailedPostStartHook")
	eventually(t, "the container is restarted", func() error {
		if s := c.get(t, "post-start-fails").Status.ContainerStatuses[0]; s.RestartCount == 0 || s.Ready {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

//go:build sandbox

package node

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

func (c *cluster) testJob(t *testing.T) {
	spec := podSpec("say", "done")
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.InitContainers = []corev1.Container{{Name: "first", Image: "example.com/probe", Command: []string{"/usr/local/bin/probe", "say", "first"}}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	if _, err := c.client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job is complete", func() error {
		j, err := c.client.BatchV1().Jobs("default").Get(t.Context(), "once", metav1.GetOptions{})
		if err == nil && j.Status.Succeeded != 1 {
			err = fmt.Errorf("%+v", j.Status)
		}
		return err
	})
	if got := c.kubectl(t, "logs", "job/once"); !strings.Contains(got, "probe: say done") {
		t.Errorf("kubectl logs: %s", got)
	}
	failing := podSpec("exit", "3")
	failing.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, "failing", failing)
	eventually(t, "the pod has failed", func() error {
		status := c.get(t, "failing").Status
		if status.Phase != corev1.PodFailed {
			return fmt.Errorf("%+v", status)
		}
		if ended := status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 3 || ended.Message != "exit as told" {
			t.Errorf("state: %+v", status.ContainerStatuses[0].State)
		}
		return nil
	})
}

func (c *cluster) testMissingSecret(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.Volumes = []corev1.Volume{{Name: "late", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late"}}}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "late", MountPath: "/late", ReadOnly: true}}
	c.create(t, "waits", spec)
	c.waiting(t, "waits", "ContainerCreating", `secret "late" not found`)
	c.event(t, "waits", "FailedMount", `MountVolume.SetUp failed for volume "late" : secret "late" not found`)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}, StringData: map[string]string{"key": "value"}}
	began := time.Now()
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running(t, "waits")
	t.Logf("running %s after the Secret appeared", time.Since(began).Round(10*time.Millisecond))

	spec = podSpec("serve", "8080")
	spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	c.create(t, "waits-for-env", spec)
	c.waiting(t, "waits-for-env", "CreateContainerConfigError", `configmap "late" not found`)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string]string{"KEY": "value"}}
	if _, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running(t, "waits-for-env")
}

func (c *cluster) testCrashLoop(t *testing.T) {
	c.create(t, "crashes", podSpec("exit", "7"))
	c.waiting(t, "crashes", "CrashLoopBackOff", "back-off 4s")
	status := c.get(t, "crashes").Status
	if s := status.ContainerStatuses[0]; s.RestartCount != 2 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 7 {
		t.Errorf("status: %+v", s)
	}
	if status.Phase != corev1.PodRunning {
		t.Errorf("phase %s", status.Phase)
	}
	c.event(t, "crashes", "BackOff", "Back-off restarting failed container main")
	missing := podSpec()
	missing.Containers[0].Command = []string{"/nothing/here"}
	c.create(t, "no-program", missing)
	eventually(t, "the missing program is named", func() error {
		s := c.get(t, "no-program").Status
		if len(s.ContainerStatuses) == 1 && s.ContainerStatuses[0].LastTerminationState.Terminated != nil &&
			strings.Contains(s.ContainerStatuses[0].LastTerminationState.Terminated.Message, "/nothing/here") {
			return nil
		}
		return fmt.Errorf("%+v", s)
	})
}

func (c *cluster) testRefused(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.HostNetwork = true
	yes := true
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	c.create(t, "refused", spec)
	c.waiting(t, "refused", "Unsupported", `hostNetwork; container "main": privileged`)
	c.event(t, "refused", "Unsupported", "hostNetwork")
}

func (c *cluster) testUnknownImage(t *testing.T) {
	spec := podSpec("serve", "8080")
	spec.Containers[0].Image = "nginx:1.29"
	c.create(t, "unknown", spec)
	c.waiting(t, "unknown", "ErrImagePull", `image "nginx:1.29" is not known to the sandbox; known: example.com/probe`)
	c.event(t, "unknown", "Failed", "nginx:1.29")
}

func (c *cluster) testDeletion(t *testing.T) {
	ctx := t.Context()
	c.create(t, "polite", podSpec("serve", "8080"))
	c.create(t, "stubborn", podSpec("hang", "8080"))
	c.running(t, "polite")
	c.running(t, "stubborn")
	eventually(t, "the stubborn one ignores SIGTERM", func() error {
		if got := served(t, c.get(t, "stubborn").Status.PodIP+":8080", "/"); got != "ok" {
			return fmt.Errorf("it answers %q", got)
		}
		return nil
	})
	// a second less than the period: the API server counts it from the request
	grace := 4 * time.Second
	for name, bounds := range map[string][2]time.Duration{"polite": {0, grace}, "stubborn": {grace, time.Minute}} {
		uid := c.get(t, name).UID
		began := time.Now()
		if err := c.client.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is gone", func() error {
			pod, err := c.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%+v, %w", pod.Status, io.ErrNoProgress)
		})
		if took := time.Since(began); took < bounds[0] || took > bounds[1] {
			t.Errorf("%s was gone after %s, want %s", name, took, bounds)
		}
		eventually(t, "the logs of "+name+" are gone", func() error {
			if _, err := os.Stat(logStore{c.logs}.podDir("default", name, string(uid))); !os.IsNotExist(err) {
				return fmt.Errorf("stat: %w", err)
			}
			return nil
		})
	}
	c.create(t, "polite", podSpec("serve", "8080"))
	c.running(t, "polite")
	old := c.get(t, "polite")
	// the same name at once: virtual-kubelet must not take the new pod for the old
	zero := int64(0)
	if err := c.client.CoreV1().Pods("default").Delete(ctx, "polite", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	c.create(t, "polite", podSpec("serve", "8080"))
	c.running(t, "polite")
	if now := c.get(t, "polite"); now.UID == old.UID || now.Status.PodIP == old.Status.PodIP {
		t.Errorf("the new pod is %s at %s, as the old one", now.UID, now.Status.PodIP)
	}
}

// What ran is started afresh when the node comes up again, but for a pod that
// must not be restarted: that has failed.
func (c *cluster) testNodeRestart(t *testing.T) {
	c.create(t, "goes-on", podSpec("serve", "8080"))
	once := podSpec("serve", "8080")
	once.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, "only-once", once)
	c.running(t, "goes-on")
	c.running(t, "only-once")
	old := c.get(t, "goes-on").Status.PodIP
	stalled := c.stalledClient(t, "goes-on")
	c.stopNode()
	_ = stalled.Process.Kill()
	_ = stalled.Wait()
	if body, err := get(t.Context(), "http://"+old+":8080/"); err == nil {
		t.Errorf("the node has ended, the pod answers %q", body)
	}
	c.startNode(t)
	eventually(t, "the pod runs again", func() error {
		status := c.get(t, "goes-on").Status
		if s := status.ContainerStatuses[0]; s.RestartCount != 1 || !s.Ready || served(t, status.PodIP+":8080", "/") != "ok" {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
	eventually(t, "the other one has failed", func() error {
		if status := c.get(t, "only-once").Status; status.Phase != corev1.PodFailed || status.ContainerStatuses[0].State.Terminated.Reason != plan.ReasonStatusUnknown {
			return fmt.Errorf("%+v", status)
		}
		return nil
	})
}

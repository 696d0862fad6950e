//go:build sandbox

package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (c *cluster) testDeployment(t *testing.T) {
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, StringData: map[string]string{"key": "one"}}
	if _, err := c.client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := podSpec("serve", "8080")
	readOnly, nonRoot := true, true
	main := &spec.Containers[0]
	main.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &readOnly, RunAsNonRoot: &nonRoot}
	main.Env = []corev1.EnvVar{
		{Name: "FROM_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "key"}}},
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		{Name: "BOTH", Value: "$(FROM_SECRET)-$(NODE)"},
	}
	main.VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}}
	main.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}}
	main.LivenessProbe = main.ReadinessProbe.DeepCopy()
	spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}}}}
	labels := map[string]string{"app": "web"}
	began := time.Now()
	_, err := c.client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is available", func() error {
		d, err := c.client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 1 {
			err = fmt.Errorf("%+v", d.Status)
		}
		return err
	})
	t.Logf("available after %s", time.Since(began).Round(10*time.Millisecond))

	pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods: %v, %v", pods, err)
	}
	pod := pods.Items[0]
	address := pod.Status.PodIP + ":8080"
	for path, want := range map[string]string{
		"/env/BOTH": "one-worker", "/files/etc/settings/key": "one",
		"/files/var/run/secrets/kubernetes.io/serviceaccount/namespace": "default",
	} {
		if got := served(t, address, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if token := served(t, address, "/files/var/run/secrets/kubernetes.io/serviceaccount/token"); strings.Count(token, ".") != 2 {
		t.Errorf("the service account's token is %q", token)
	}

	changed := time.Now()
	secret.StringData["key"] = "two"
	if _, err := c.client.CoreV1().Secrets("default").Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the changed Secret is in the file", func() error {
		if got := served(t, address, "/files/etc/settings/key"); got != "two" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	t.Logf("the file changed after %s", time.Since(changed).Round(10*time.Millisecond))

	if got, want := c.kubectl(t, "logs", pod.Name), fmt.Sprintf("probe: uid %d serves", imageUID(t)); !strings.Contains(got, want) {
		t.Errorf("kubectl logs: %s", got)
	}
	if got := c.kubectl(t, "logs", pod.Name, "--tail=1", "--timestamps"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "Z probe: ") {
		t.Errorf("kubectl logs --tail=1 --timestamps: %s", got)
	}
	c.portForward(t, pod.Name)

	// a failing liveness probe restarts the container
	served(t, address, "/fail")
	eventually(t, "the container is restarted", func() error {
		if s := c.get(t, pod.Name).Status.ContainerStatuses[0]; s.RestartCount != 1 || !s.Ready {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if got := c.kubectl(t, "logs", pod.Name, "--previous"); !strings.Contains(got, "told to stop") {
		t.Errorf("kubectl logs --previous: %s", got)
	}
	c.event(t, pod.Name, "Unhealthy", "Liveness probe failed")
}

// portForward reaches the pod through kubectl and the API server.
func (c *cluster) portForward(t *testing.T, pod string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs, "kubectl"), "--kubeconfig", c.kubeconfig, "port-forward", pod, "18080:8080", "--address=127.0.0.1")
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "port-forward answers", func() error {
		if got := served(t, "127.0.0.1:18080", "/env/NODE"); got != "worker" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	cancel()
	_ = cmd.Wait()
}

//go:build e2e

package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// byDeveloper is the lease of the sidecar that runs outside of the clusters.
const byDeveloper = "lease-by-developer"

// The commands of docs/lease-sidecar.md keep a lease from outside of the
// clusters, for the example's pod, and end on an interrupt.
func developersMachine(t *testing.T, env *environment) {
	c := env.clusters[0]
	kubeconfig, err := os.ReadFile(env.hub.file)
	must(t, "read the hub's kubeconfig", err)
	secrets := c.kube.CoreV1().Secrets(example)
	_, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: byDeveloper},
		Data: map[string][]byte{"kubeconfig": kubeconfig}}, metav1.CreateOptions{})
	must(t, "create the secret", err)
	cleanup(t, "delete the secret", func(ctx context.Context) error { return secrets.Delete(ctx, byDeveloper, metav1.DeleteOptions{}) })
	leases := env.hub.kube.CoordinationV1().Leases(c.name)
	cleanup(t, "delete the lease", func(ctx context.Context) error {
		err := leases.Delete(ctx, byDeveloper, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	pod, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	variables := []string{"POD_NAME=" + pod.Name, "POD_NAMESPACE=" + example, "WATCH_NAMESPACE=" + example, "KUBECONFIG=" + c.file,
		// As for the repository's other builds, so that the build cache has the packages.
		"CGO_ENABLED=0", "GOFLAGS=-trimpath"}
	flags := fmt.Sprintf("-lease-name %s -lease-namespace %s -hub-kubeconfig-secret %s -lease-duration %d -startup-delay 0 "+
		"-health-bind-address 0 -metrics-bind-address 0", byDeveloper, c.name, byDeveloper, leaseSeconds)
	renewals := follow(t, env.hub, c.name, byDeveloper)
	for _, command := range []string{"go run ./cmd/klusterlet-addon-lease-controller " + flags, "make run ARGS='" + flags + "'"} {
		start := time.Now()
		interrupt := background(t, command, variables)
		eventually(t, "renewals by "+command, renewals.renewsAfter(start))
		interrupt()
		t.Logf("%s: took %s", command, time.Since(start).Round(time.Millisecond))
	}
}

// background starts a shell command in the top directory of the repository. The
// function that it returns interrupts the command, as Ctrl-C does, and checks that the
// sidecar ends in order.
func background(t *testing.T, command string, variables []string) (interrupt func()) {
	t.Helper()
	top, err := filepath.Abs("../../..")
	must(t, "find the top directory", err)
	var output bytes.Buffer
	shell := exec.Command("sh", "-c", "exec "+command)
	shell.Dir, shell.Stdout, shell.Stderr = top, &output, &output
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// If make runs the tests, its flags and job slots are not for the make below.
	shell.Env = append(slices.DeleteFunc(os.Environ(), func(inherited string) bool {
		name, _, _ := strings.Cut(inherited, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name)
	}), variables...)
	must(t, "start "+command, shell.Start())
	ended := make(chan struct{})
	go func() {
		// make reports the interrupt as an error.
		_ = shell.Wait()
		close(ended)
	}()
	kill := func(signal syscall.Signal) {
		if err := syscall.Kill(-shell.Process.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("send %s to %s: %v", signal, command, err)
		}
	}
	t.Cleanup(func() {
		kill(syscall.SIGKILL)
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", command, output.String())
		}
	})
	return func() {
		kill(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(deadline):
			t.Fatalf("%s does not end on an interrupt", command)
		}
		if !strings.Contains(output.String(), "] \"Stopped\"") {
			t.Errorf("%s did not end in order", command)
		}
	}
}

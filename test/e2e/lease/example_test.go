//go:build e2e

package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The example is a shell script and a sidecar; the script knows of no lease.
func leaseIsKept(t *testing.T, env *environment) {
	records := make([]*record, len(env.clusters))
	for i, c := range env.clusters {
		records[i] = follow(t, env.hub, c.name, example)
	}
	for i, c := range env.clusters {
		renewals := records[i]
		eventually(t, c.name+": the lease is renewed", renewals.renewsAfter(time.Time{}))
		pod, err := c.pod(t.Context())
		must(t, "get the example's pod", err)
		lease, err := env.hub.kube.CoordinationV1().Leases(c.name).Get(t.Context(), example, metav1.GetOptions{})
		must(t, "get the lease", err)
		spec := lease.Spec
		if spec.HolderIdentity == nil || *spec.HolderIdentity != pod.Name || spec.LeaseDurationSeconds == nil ||
			*spec.LeaseDurationSeconds != leaseSeconds || spec.AcquireTime == nil || spec.RenewTime == nil {
			t.Errorf("%s: lease %+v", c.name, spec)
		}
		eventually(t, c.name+": the event that says so", c.hasEvent(example, pod.Name, "LeaseRenewing", time.Time{}))
		renewals.onceAPeriod(t, c.name)
	}
}

// onceAPeriod checks that the lease is renewed once in its duration: each cluster's
// renewals are a load on the one hub.
func (r *record) onceAPeriod(t *testing.T, name string) {
	t.Helper()
	const gaps = 5
	var mean time.Duration
	eventually(t, name+": several renewals", func(context.Context) error {
		var ok bool
		if mean, ok = r.meanGap(gaps); !ok {
			return errNotYet
		}
		return nil
	})
	t.Logf("%s: renewed every %s on average", name, mean.Round(time.Millisecond))
	// A first renewal that is late makes the mean shorter.
	if ratio := float64(mean) / float64(period); ratio < 0.8 || ratio > 1+tolerance {
		t.Errorf("%s: renewed every %.2f periods on average, want 0.8 to %.2f", name, ratio, 1+tolerance)
	}
}

func deletedLease(t *testing.T, env *environment) {
	c := env.clusters[0]
	renewals := follow(t, env.hub, c.name, example)
	eventually(t, "renewals before", renewals.renewsAfter(time.Time{}))
	start := time.Now()
	must(t, "delete the lease", env.hub.kube.CoordinationV1().Leases(c.name).Delete(t.Context(), example, metav1.DeleteOptions{}))
	eventually(t, "renewals after", renewals.renewsAfter(start))
	renewals.wantGap(t, "lease deleted", start, 0)
}

// A rotation, done as OCM's registration agent does it: one update of the secret
// with another certificate for the same identity.
func rotatedSecret(t *testing.T, env *environment) {
	c := env.clusters[0]
	before, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	renewals := follow(t, env.hub, c.name, example)
	eventually(t, "renewals before", renewals.renewsAfter(time.Time{}))
	secret, err := c.kube.CoreV1().Secrets(example).Get(t.Context(), exampleSecret, metav1.GetOptions{})
	must(t, "get the secret", err)
	certificate, key := env.issue(t, subjectOf(t, secret.Data["tls.crt"]))
	secret.Data["tls.crt"], secret.Data["tls.key"] = certificate, key
	start := time.Now()
	_, err = c.kube.CoreV1().Secrets(example).Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, "rotate the secret", err)
	eventually(t, "renewals after", renewals.renewsAfter(start))
	log := c.logs(t, example, before.Name)
	// The certificate is the only one that expires in that second.
	if used := fmt.Sprintf("\"Using the renewed credentials for the hub\" notAfter=%q", parsed(t, certificate).NotAfter); !strings.Contains(log, used) {
		t.Errorf("the new credentials are not in use: the log has no %s", used)
	}
	if strings.Contains(log, "Failed to renew") {
		t.Error("a renewal failed: " + log)
	}
	renewals.wantGap(t, "secret rotated", start, 0)
	after, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	sameSidecar(t, before, after)
}

// A deleted secret is written again by OCM's registration agent, with another
// certificate.
func deletedSecret(t *testing.T, env *environment) {
	c := env.clusters[0]
	before, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	old, err := c.kube.CoreV1().Secrets(example).Get(t.Context(), exampleSecret, metav1.GetOptions{})
	must(t, "get the secret", err)
	renewals := follow(t, env.hub, c.name, example)
	eventually(t, "renewals before", renewals.renewsAfter(time.Time{}))
	start := time.Now()
	must(t, "delete the secret", c.kube.CoreV1().Secrets(example).Delete(t.Context(), exampleSecret, metav1.DeleteOptions{}))
	eventually(t, "the secret is there again, complete", func(ctx context.Context) error {
		secret, err := c.kube.CoreV1().Secrets(example).Get(ctx, exampleSecret, metav1.GetOptions{})
		if err == nil && (secret.UID == old.UID || len(secret.Data["tls.crt"]) == 0 || len(secret.Data["kubeconfig"]) == 0) {
			err = errNotYet
		}
		return err
	})
	back := time.Now()
	eventually(t, "renewals after", renewals.renewsAfter(back))
	renewals.wantGap(t, "secret deleted", start, back.Sub(start))
	after, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	sameSidecar(t, before, after)
}

// The script crashes as long as a ConfigMap says so.
func crash(t *testing.T, env *environment) {
	c := env.clusters[1]
	before, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	renewals := follow(t, env.hub, c.name, example)
	eventually(t, "renewals before", renewals.renewsAfter(time.Time{}))
	stop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: example}, Data: map[string]string{"stop": ""}}
	remove := func(ctx context.Context) error {
		err := c.kube.CoreV1().ConfigMaps(example).Delete(ctx, example, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	cleanup(t, "let the script run", remove)
	_, err = c.kube.CoreV1().ConfigMaps(example).Create(t.Context(), stop, metav1.CreateOptions{})
	must(t, "make the script crash", err)

	eventually(t, "the main container has crashed", c.exampleIs(false))
	crashed := time.Now()
	eventually(t, "the event that names it", c.hasEvent(example, before.Name, "ContainerNotReady", crashed.Add(-2*time.Second)))
	// It may run for a moment between two crashes, but not for a period.
	wait(t, crashed.Add(3*period))
	if late, ok := renewals.firstAfter(crashed.Add(period)); ok {
		t.Errorf("renewed %s after the crash", late.Sub(crashed))
	}
	t.Logf("last renewal %.2f periods after the crash", float64(renewals.last().Sub(crashed))/float64(period))

	must(t, "let the script run", remove(t.Context()))
	eventually(t, "the main container is back", c.exampleIs(true))
	back := time.Now()
	eventually(t, "renewals after", renewals.renewsAfter(crashed.Add(period)))
	first, _ := renewals.firstAfter(crashed.Add(period))
	ratio := float64(first.Sub(back)) / float64(period)
	t.Logf("resumed %.2f periods after the pod was Ready", ratio)
	if ratio > 1 {
		t.Errorf("the renewals resumed %.2f periods after the pod was Ready", ratio)
	}
	after, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	sameSidecar(t, before, after)
}

// exampleIs checks that the example's pod is Ready, or that its main container
// does not run.
func (c *cluster) exampleIs(running bool) check {
	return func(ctx context.Context) error {
		pod, err := c.pod(ctx)
		if err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == "main" && (status.State.Running != nil) != running {
				return fmt.Errorf("container main: %+v", status.State)
			}
		}
		if running && !isReady(pod) {
			return errors.New("the pod is not Ready")
		}
		return nil
	}
}

func wait(t *testing.T, until time.Time) {
	t.Helper()
	eventually(t, "time passes", func(context.Context) error {
		if time.Now().Before(until) {
			return errNotYet
		}
		return nil
	})
}

func hubRestart(t *testing.T, env *environment) {
	records := map[*cluster]*record{}
	pods := map[*cluster]*corev1.Pod{}
	for _, c := range env.clusters {
		records[c] = follow(t, env.hub, c.name, example)
		eventually(t, c.name+": renewals before", records[c].renewsAfter(time.Time{}))
		pod, err := c.pod(t.Context())
		must(t, "get the example's pod", err)
		pods[c] = pod
	}
	start := time.Now()
	func() {
		defer run(t, "START_HUB")
		run(t, "STOP_HUB")
		eventually(t, "the hub does not answer", func(ctx context.Context) error {
			if env.hub.answers(ctx) == nil {
				return errNotYet
			}
			return nil
		})
	}()
	eventually(t, "the hub answers", env.hub.answers)
	back := time.Now()
	for _, c := range env.clusters {
		eventually(t, c.name+": renewals after", records[c].renewsAfter(back))
		records[c].wantGap(t, c.name+": hub restarted", start, back.Sub(start))
		after, err := c.pod(t.Context())
		must(t, "get the example's pod", err)
		sameSidecar(t, pods[c], after)
	}
}

func (a *api) answers(ctx context.Context) error {
	_, err := a.kube.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

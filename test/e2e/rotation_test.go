//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// rotations is how often the certificate is renewed while the hub is
	// written to. The registration agent stops asking after ten requests.
	rotations = 4
	// inUseWithin is how soon a new certificate has to be in use, and oldest how
	// late a copy may be: what the add-on promises.
	inUseWithin = 5 * time.Second
	oldest      = 2 * time.Second
)

// Renewing the agent's certificate loses nothing (docs/design.md#credentials): while 50 ConfigMaps change per
// second the certificate is taken out of the secret again and again, the
// registration agent requests another one, and the agent reconnects with it, with
// no request refused, without a restart, and with every copy at most 2 s late.
func rotationUnderLoad(t *testing.T, env *environment) {
	c := env.first()
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	// The next test can make ten requests again.
	cleanup(t, "delete used certificate requests", func(ctx context.Context) error {
		return env.deleteUsedRequests(ctx, c)
	})
	pods, err := c.agentPods(t.Context())
	must(t, "list the agent's pods", err)
	if len(pods) != 1 {
		t.Fatalf("%d pods of the agent, want 1", len(pods))
	}
	refusedBefore := env.refusedLogins(t)

	load := startLoad(t, env, c)
	for i := 1; i <= rotations; i++ {
		// Under each certificate for a while: they differ by the second in which
		// they expire.
		load.goOn(t, 100)
		took := c.rotate(t, env, &pods[0])
		timings.record(fmt.Sprintf("%s: rotation %d under load: new certificate in the secret → in use", c.name, i), took)
		if took > inUseWithin {
			t.Errorf("rotation %d: the new certificate was in use %s after it was in the secret, want %s", i, took, inUseWithin)
		}
	}
	load.goOn(t, 100)
	load.stop(t)

	// Others may use the hub, too. The agent says by itself who was refused.
	refused := env.refusedLogins(t) - refusedBefore
	t.Logf("%g logins refused by the hub, of all users", refused)
	if log := c.agentLog(t, &pods[0]); refused != 0 && unauthorized.MatchString(log) {
		t.Errorf("the hub has refused the agent during the rotations:\n%s", log)
	}
	after, err := c.kube.CoreV1().Pods(pods[0].Namespace).Get(t.Context(), pods[0].Name, metav1.GetOptions{})
	must(t, "get the agent's pod", err)
	if before, now := restarts(&pods[0]), restarts(after); after.UID != pods[0].UID || now != before {
		t.Errorf("the agent's pod restarted: %d restarts before, %d now", before, now)
	}
	must(t, "the agent is available", c.agentAvailable(t.Context()))
}

// unauthorized is how the agent, or client-go in it, tells of a refused login.
var unauthorized = regexp.MustCompile(`(?i)unauthorized|does not know the credentials`)

func (c *cluster) agentLog(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	raw, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	must(t, "read the agent's log", err)
	if !strings.Contains(string(raw), "Using the renewed credentials for the hub") {
		t.Errorf("the agent's log does not tell of a rotation:\n%s", raw)
	}
	return string(raw)
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// rotate makes the registration agent renew the certificate, and returns how
// long the agent takes from when the new one is in the secret until it says, by
// an event on its pod, that it uses it. Events come a second apart.
func (c *cluster) rotate(t *testing.T, env *environment, pod *corev1.Pod) time.Duration {
	t.Helper()
	before, err := c.hubCredentials(t.Context())
	must(t, "get the agent's secret", err)
	_, err = c.kube.CoreV1().Secrets(c.installNamespace).Patch(t.Context(), agentSecret, types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/data/tls.crt"}]`), metav1.PatchOptions{})
	must(t, "take the certificate out of the secret", err)
	start := time.Now()
	var renewed []byte
	eventually(t, "a new certificate", func(ctx context.Context) error {
		secret, err := c.hubCredentials(ctx)
		if err != nil {
			return err
		}
		if bytes.Equal(secret.Data[corev1.TLSCertKey], before.Data[corev1.TLSCertKey]) {
			return fmt.Errorf("secret %s has the old certificate", agentSecret)
		}
		renewed = secret.Data[corev1.TLSCertKey]
		return nil
	})
	inSecret := time.Now()
	timings.record(c.name+": certificate taken away → renewed by the registration agent", inSecret.Sub(start))
	certificate, err := parseCertificate(renewed)
	must(t, "parse the new certificate", err)
	eventually(t, "the new certificate in use", c.announced(pod, "HubConnected",
		"until "+certificate.NotAfter.UTC().Format(time.RFC3339)))
	took := time.Since(inSecret)
	must(t, "delete used certificate requests", env.deleteUsedRequests(t.Context(), c))
	return took
}

// announced checks that there is an event on the pod with this reason, whose
// message contains text.
func (c *cluster) announced(pod *corev1.Pod, reason, text string) check {
	return func(ctx context.Context) error {
		list, err := c.kube.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.Set{"involvedObject.uid": string(pod.UID), "reason": reason}.String()})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if strings.Contains(list.Items[i].Message, text) {
				return nil
			}
		}
		return fmt.Errorf("no event %s on pod %s says %q, of %d", reason, pod.Name, text, len(list.Items))
	}
}

// refusedLogins returns how many requests the hub has answered with "unauthorized"
// so far, of all users.
func (e *environment) refusedLogins(t *testing.T) float64 {
	t.Helper()
	raw, err := e.hub.kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	must(t, "read the hub's metrics", err)
	sum, seen := 0.0, false
	for line := range strings.Lines(string(raw)) {
		labels, ok := strings.CutPrefix(line, "authentication_attempts{")
		if !ok {
			continue
		}
		seen = true
		var value float64
		if strings.Contains(labels, `result="success"`) {
			continue
		}
		if _, err := fmt.Sscan(labels[strings.LastIndex(labels, "}")+1:], &value); err != nil {
			t.Fatalf("metric %q: %v", strings.TrimSpace(line), err)
		}
		sum += value
	}
	if !seen {
		t.Fatal("the hub has no metric authentication_attempts")
	}
	return sum
}

// number is the content of a ConfigMap of the load.
func number(cm *corev1.ConfigMap) int {
	n, err := strconv.Atoi(cm.Data["n"])
	if err != nil {
		return 0
	}
	return n
}

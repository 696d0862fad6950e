package agent

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// site is a hub that asks for client certificates, a managed cluster, and an
// agent that takes its credentials from the secret.
type site struct {
	*pair
	ca   *fakepki.Authority
	logs runtest.Logs
}

func newSite(t *testing.T) *site {
	t.Helper()
	ca := fakepki.New(t)
	s := &site{ca: ca, pair: newPairWith(t, runtest.NewHub(t, ca, nil))}
	s.hub.Put("managedclusteraddons", enabled())
	s.source("a")
	return s
}

func (s *site) start() {
	s.t.Helper()
	command := NewCommand()
	command.SetArgs([]string{"--cluster-name=cluster1", "--namespace=default", "--pod-name=agent-x", "--pod-uid=4711",
		"--kubeconfig=" + runtest.Kubeconfig(s.t, s.managed),
		"--health-bind-address=" + s.health, "--metrics-bind-address=" + s.metrics})
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&s.logs)))
	runtest.Start(s.t, func(ctx context.Context) error { return command.ExecuteContext(klog.NewContext(ctx, logger)) })
}

// good are credentials as OCM's registration agent writes them.
func (s *site) good() map[string][]byte {
	data := map[string][]byte{"kubeconfig": []byte(s.ca.Kubeconfig(s.hub.HTTP().URL)), "cluster-name": []byte("cluster1")}
	data["tls.crt"], data["tls.key"] = s.ca.Fresh()
	return data
}

func (s *site) put(data map[string][]byte) {
	s.managed.Put("secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "helloworld-hub-kubeconfig", Namespace: "default"}, Data: data})
}

// event reports whether there is an Event with this reason on the agent's pod.
func (s *site) event(kind, reason string) bool {
	for _, object := range s.managed.List("events", "default") {
		event, ok := object.(*corev1.Event)
		if ok && event.Type == kind && event.Reason == reason && event.InvolvedObject.Kind == "Pod" &&
			event.InvolvedObject.Name == "agent-x" && event.InvolvedObject.UID == "4711" {
			return true
		}
	}
	return false
}

func (s *site) metric(line string) bool {
	_, body := runtest.Get(s.metrics, "/metrics")
	return strings.Contains(body, line+"\n")
}

// badConfigurations are one for each reason that a user may meet.
var badConfigurations = []struct {
	reason string
	spoil  func(s *site, data map[string][]byte)
}{
	{"KubeconfigMissing", func(_ *site, data map[string][]byte) { delete(data, "kubeconfig") }},
	{"KubeconfigInvalid", func(_ *site, data map[string][]byte) { data["kubeconfig"] = data["kubeconfig"][:80] }},
	{"KeyMissing", func(_ *site, data map[string][]byte) { delete(data, "tls.key") }},
	{"CertificateMissing", func(_ *site, data map[string][]byte) { delete(data, "tls.crt") }},
	{"KeyMismatch", func(s *site, data map[string][]byte) { _, data["tls.key"] = s.ca.Fresh() }},
	{"CertificateForOther", func(s *site, data map[string][]byte) {
		s.issue(data, strings.Replace(fakepki.User, "cluster1", "cluster2", 1), -time.Hour, time.Hour)
	}},
	{"CertificateExpired", func(s *site, data map[string][]byte) { s.issue(data, fakepki.User, -2*time.Hour, -time.Hour) }},
	{"CertificateTooEarly", func(s *site, data map[string][]byte) { s.issue(data, fakepki.User, time.Hour, 2*time.Hour) }},
	{"ServerInvalid", func(_ *site, data map[string][]byte) { replace(data, "https://", "http://") }},
	{"ProxyInvalid", func(_ *site, data map[string][]byte) { replace(data, "cluster: {", "cluster: {proxy-url: 'x:1', ") }},
	{"CAInvalid", func(_ *site, data map[string][]byte) {
		replace(data, "certificate-authority-data: ", "certificate-authority-data: eHl6 }\n#")
	}},
}

func (s *site) issue(data map[string][]byte, user string, from, to time.Duration) {
	data["tls.crt"], data["tls.key"] = s.ca.Issue(user, time.Now().Add(from), time.Now().Add(to))
}

func replace(data map[string][]byte, old, now string) {
	data["kubeconfig"] = bytes.Replace(data["kubeconfig"], []byte(old), []byte(now), 1)
}

// TestBadConfigurations: each is told by its own reason where a user looks, and
// ends nothing: not the agent that waits for credentials, and not one that has
// good ones in use.
func TestBadConfigurations(t *testing.T) {
	for _, test := range badConfigurations {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			bad := s.good()
			test.spoil(s, bad)
			s.put(bad)
			s.start()
			s.saysWhatItWaitsFor(test.reason)
			s.put(s.good())
			runtest.Eventually(t, "copied", func() bool { return s.copied("a") })
			runtest.Eventually(t, "connected event", func() bool { return s.event("Normal", "HubConnected") })
			s.put(bad)
			s.goesOn(test.reason)
			// A message alone is reported every 5 s at most: one case of them
			// all shows that it gets there.
			if test.reason == "KeyMismatch" {
				s.tellsTheHub(test.reason)
			}
		})
	}
}

func (s *site) saysWhatItWaitsFor(reason string) {
	s.t.Helper()
	want := fmt.Sprintf("[-] hub-credentials: secret default/helloworld-hub-kubeconfig: %s: ", reason)
	runtest.Eventually(s.t, "not ready because of "+reason, func() bool {
		code, body := runtest.Get(s.metrics, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, want)
	})
	runtest.Eventually(s.t, "event "+reason, func() bool { return s.event("Warning", reason) })
	if !s.logs.Contain(fmt.Sprintf("reason=%q", reason)) && !s.logs.Contain("reason="+reason) {
		s.t.Errorf("the log does not say %s:\n%s", reason, s.logs.String())
	}
	if !s.metric(fmt.Sprintf(`helloworld_agent_hub_credentials_problem{reason=%q} 1`, reason)) {
		s.t.Error("no metric names the reason")
	}
	if s.copied("a") || s.managed.Get("leases", "default", "helloworld") != nil {
		s.t.Error("works without credentials")
	}
}

func (s *site) goesOn(reason string) {
	s.t.Helper()
	runtest.Eventually(s.t, "ready, and says "+reason, func() bool {
		code, body := runtest.Get(s.metrics, "/readyz")
		return code == http.StatusOK && strings.Contains(body, "[+] hub-credentials: ok: ") && strings.Contains(body, ": "+reason+": ")
	})
	s.source("late")
	runtest.Eventually(s.t, "copied with the last good credentials", func() bool { return s.copied("late") })
	for _, line := range []string{
		`helloworld_agent_hub_credentials_rotations_total{result="connected"} 1`,
		`helloworld_agent_hub_credentials_rotations_total{result="refused"} 1`,
		`helloworld_agent_hub_credentials_rotations_total{result="rotated"} 0`,
	} {
		if !s.metric(line) {
			s.t.Errorf("metrics have no %s", line)
		}
	}
}

func (s *site) tellsTheHub(reason string) {
	s.t.Helper()
	runtest.Eventually(s.t, "the condition says "+reason, func() bool {
		return strings.HasPrefix(s.condition(), "True/Synced: 2 of 2 ConfigMaps synced; ") &&
			strings.Contains(s.condition(), ": "+reason+": ")
	})
}

// TestConnectsWhenTheSecretArrives: the first copy appears within 2 s.
func TestConnectsWhenTheSecretArrives(t *testing.T) {
	s := newSite(t)
	s.start()
	s.saysWhatItWaitsFor("SecretMissing")
	start := time.Now()
	s.put(s.good())
	runtest.Eventually(t, "copied", func() bool { return s.copied("a") })
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("copied %s after the secret", took)
	} else {
		t.Logf("copied %s after the secret", took)
	}
	if !s.metric(`helloworld_agent_hub_credentials_rotations_total{result="refused"} 0`) {
		t.Error("to wait for the secret is counted as refused credentials")
	}
}

// TestRotationWritesNothing: the mirror, its conflicts and the add-on's view outlive
// a rotation. What reads a side is listed at most once, and only on the hub.
func TestRotationWritesNothing(t *testing.T) {
	s := newSite(t)
	s.source("theirs")
	s.managed.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: "default"}})
	s.put(s.good())
	s.start()
	s.reports("False/Conflict: 1 of 2 ConfigMaps synced; conflict: theirs")
	runtest.Eventually(t, "the event about the conflict", func() bool { return len(s.hub.List("events", "cluster1")) > 0 })
	runtest.Eventually(t, "the ConfigMapMirror", func() bool {
		mirror, ok := s.hub.Get("configmapmirrors", "cluster1", "helloworld").(*v1alpha1.ConfigMapMirror)
		return ok && mirror.Status != nil && mirror.Status.Total == 2 && mirror.Status.Synced == 1
	})
	s.hub.Requests()
	s.managed.Requests()
	s.put(s.good())
	runtest.Eventually(t, "rotated", func() bool {
		return s.metric(`helloworld_agent_hub_credentials_rotations_total{result="rotated"} 1`)
	})
	// The old connection is closed 2 s after the rotation.
	watches := 0
	lists := map[string]int{}
	runtest.Eventually(t, "watches go on under the new certificate", func() bool {
		for _, r := range s.hub.Requests() {
			switch r.Verb {
			case "watch":
				watches++
			case "list":
				lists[r.Resource]++
			default:
				t.Errorf("hub: %s because of a rotation", r)
			}
		}
		return watches >= 2
	})
	for resource, n := range lists {
		if n > 1 {
			t.Errorf("%s were listed %d times on the hub", resource, n)
		}
	}
	for _, r := range s.managed.Requests() {
		if r.Resource != "leases" && r.Resource != "events" {
			t.Errorf("managed cluster: %s because of a rotation", r)
		}
	}
	s.source("late")
	runtest.Within(t, 2*time.Second, "copied within 2 s", func() bool { return s.copied("late") })
}

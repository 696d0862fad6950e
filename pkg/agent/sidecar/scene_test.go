package sidecar

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar/verdict"
)

// scene is a managed cluster with the pod, a hub that requires client certificates,
// and a sidecar between them.
type scene struct {
	t *testing.T
	// period is the time between two renewals. It is zero for the program as it is,
	// which renews once per duration.
	period          time.Duration
	ca              *fakepki.Authority
	hub, managed    *fakeapi.Server
	health, metrics string

	mu     sync.Mutex
	serial string
}

var running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

// podWith is a Ready pod whose main container has this state.
func podWith(main corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "addons", Name: "pod-1"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "main"}, {Name: "lease", Command: []string{"/usr/local/bin/" + Program}}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", Ready: main.Running != nil, State: main}, {Name: "lease", Ready: true, State: running}},
		},
	}
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, period: 100 * time.Millisecond, ca: fakepki.New(t), managed: runtest.NewAPI(t), health: runtest.Address(t), metrics: runtest.Address(t)}
	s.hub = runtest.NewHub(t, s.ca, func(serial string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serial = serial
	})
	s.managed.Put("pods", podWith(running))
	return s
}

// start runs the program until the test ends.
func (s *scene) start(args ...string) {
	s.t.Helper()
	args = append([]string{"-lease-name=mine", "-kubeconfig", runtest.Kubeconfig(s.t, s.managed), "-lease-duration=1", "-startup-delay=0",
		"-health-bind-address=" + s.health, "-metrics-bind-address=" + s.metrics}, args...)
	runtest.Start(s.t, func(ctx context.Context) error {
		if s.period == 0 {
			return Main(ctx, args, inPod, io.Discard)
		}
		options, err := Parse(args, inPod, io.Discard)
		if err != nil {
			return err
		}
		return run(ctx, options, s.period)
	})
	s.eventually("it answers", func() bool { code, _ := runtest.Get(s.health, "/healthz"); return code == http.StatusOK })
}

func (s *scene) onHub() { s.start("-lease-namespace=cluster1", "-hub-kubeconfig-secret=creds") }

func (s *scene) eventually(what string, condition func() bool) {
	s.t.Helper()
	runtest.Eventually(s.t, what, condition, func() string { _, body := runtest.Get(s.health, "/readyz"); return "readyz: " + body })
}

// data returns a Secret as OCM writes it, with a new certificate.
func (s *scene) data() map[string][]byte {
	cert, key := s.ca.Issue("agent", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	return map[string][]byte{"kubeconfig": []byte(s.ca.Kubeconfig(s.hub.HTTP().URL)), "tls.crt": cert, "tls.key": key}
}

func (s *scene) put(data map[string][]byte) {
	s.managed.Put("secrets", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "addons", Name: "creds"}, Data: data})
}

// renewals returns the metric of the renewals.
func (s *scene) renewals() string { return s.metric("klusterlet_addon_lease_renewals_total") }

func (s *scene) metric(name string) string {
	_, body := runtest.Get(s.metrics, "/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// renews waits for two more renewals, because one may have been under way.
func (s *scene) renews(when string) {
	s.t.Helper()
	for range 2 {
		before := s.renewals()
		s.eventually("a renewal "+when, func() bool { now := s.renewals(); return now != "" && now != before })
	}
}

// stops waits until /readyz has this reason, and checks that the lease is no longer
// renewed.
func (s *scene) stops(reason verdict.Reason) {
	s.t.Helper()
	s.eventually("stops: "+string(reason), func() bool {
		_, body := runtest.Get(s.health, "/readyz")
		return strings.Contains(body, "lease: not renewed: "+string(reason))
	})
	before := s.renewals()
	time.Sleep(3 * s.period)
	if now := s.renewals(); now != before {
		s.t.Errorf("%s: renewed all the same", reason)
	}
	s.eventually("the event "+string(reason), func() bool { return s.hasEvent(string(reason)) })
}

func (s *scene) hasEvent(reason string) bool {
	return slices.ContainsFunc(s.managed.List("events", "addons"), func(object fakeapi.Object) bool {
		event, ok := object.(*corev1.Event)
		return ok && event.Reason == reason && event.InvolvedObject.Name == "pod-1" && event.InvolvedObject.Kind == "Pod"
	})
}

func (s *scene) noFailure() {
	s.t.Helper()
	if _, body := runtest.Get(s.metrics, "/metrics"); strings.Contains(body, "klusterlet_addon_lease_renewal_failures_total{") {
		s.t.Error("a renewal failed")
	}
}

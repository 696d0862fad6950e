package sidecar

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/pkg/agent/internal/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/internal/fakepki"
)

// scene is a managed cluster with the pod, a hub that asks for client
// certificates, and a sidecar between them with a period of 250 ms.
type scene struct {
	t               *testing.T
	ca              *fakepki.Authority
	hub, managed    *fakeapi.Server
	health, metrics string

	mu     sync.Mutex
	serial string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, ca: fakepki.New(t), hub: fakeapi.New(), managed: fakeapi.New(), health: free(t), metrics: free(t)}
	s.managed.Start()
	t.Cleanup(s.managed.Close)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.ca.PEM)
	s.hub.HTTP().TLS = &tls.Config{
		Certificates: []tls.Certificate{s.ca.Pair("agent", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		VerifyConnection: func(state tls.ConnectionState) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.serial = state.PeerCertificates[0].SerialNumber.String()
			return nil
		},
	}
	s.hub.HTTP().EnableHTTP2 = true
	s.hub.HTTP().StartTLS()
	t.Cleanup(s.hub.Close)
	s.managed.Put("pods", runningPod())
	return s
}

func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start runs the program until the test ends.
func (s *scene) start(args ...string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, s.managed.Config().Host)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	args = append([]string{"-lease-name=mine", "-kubeconfig", file, "-lease-duration=1", "-startup-delay=0",
		"-health-bind-address=" + s.health, "-metrics-bind-address=" + s.metrics}, args...)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Main(ctx, args, inPod, io.Discard) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("run: %v", err)
		}
	})
	s.eventually("it answers", func() bool { code, _ := s.get(s.health + "/healthz"); return code == http.StatusOK })
}

func (s *scene) onHub() { s.start("-lease-namespace=cluster1", "-hub-kubeconfig-secret=creds") }

func (s *scene) get(url string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

func (s *scene) eventually(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			_, body := s.get(s.health + "/readyz")
			s.t.Fatalf("%s: not within 20 s; readyz: %s", what, body)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// data is a secret as OCM writes it, with a new certificate.
func (s *scene) data() map[string][]byte {
	cert, key := s.ca.Issue("agent", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	return map[string][]byte{"kubeconfig": kubeconfigFor(s.hub.HTTP().URL, s.ca.PEM, fromOCM), "tls.crt": cert, "tls.key": key}
}

func (s *scene) put(data map[string][]byte) { s.managed.Put("secrets", secretWith(data)) }

// renewals is how often the lease was renewed, as the metrics tell.
func (s *scene) renewals() string { return s.metric("klusterlet_addon_lease_renewals_total") }

func (s *scene) metric(name string) string {
	_, body := s.get(s.metrics + "/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// renews waits for another two renewals: one may have been under way.
func (s *scene) renews(when string) {
	s.t.Helper()
	for range 2 {
		before := s.renewals()
		s.eventually("a renewal "+when, func() bool { now := s.renewals(); return now != "" && now != before })
	}
}

// stops waits until the health says so, with this reason, and sees that the
// lease is renewed no more.
func (s *scene) stops(reason Reason) {
	s.t.Helper()
	s.eventually("stops: "+string(reason), func() bool {
		_, body := s.get(s.health + "/readyz")
		return strings.Contains(body, "lease: not renewed: "+string(reason))
	})
	before := s.renewals()
	time.Sleep(600 * time.Millisecond)
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
	if _, body := s.get(s.metrics + "/metrics"); strings.Contains(body, "klusterlet_addon_lease_renewal_failures_total{") {
		s.t.Error("a renewal failed")
	}
}

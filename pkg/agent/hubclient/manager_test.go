package hubclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
)

// scene is a managed cluster with the Secret, a hub that requires client
// certificates, and a manager between them.
type scene struct {
	t            *testing.T
	ca           *fakepki.Authority
	hub, managed *fakeapi.Server
	manager      *Manager
	serving      atomic.Int32
	started      atomic.Int32

	mu      sync.Mutex
	seen    []string
	changes []Change
}

var identity = credentials.Identity{ClusterName: "cluster1", AddonName: "helloworld"}

// problem returns the reason why the credentials cannot be used, or "".
func (s *scene) problem() credentials.Reason {
	if problem := s.manager.Status().Problem; problem != nil {
		return problem.Reason
	}
	return ""
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, ca: fakepki.New(t), managed: runtest.NewAPI(t)}
	s.hub = s.newHub()
	managed, err := kubeclient.New(s.managed.Config())
	if err != nil {
		t.Fatal(err)
	}
	s.manager = s.newManager(NewSecretSource(managed.Secrets("copies"), "copies", "creds", clock.RealClock{}))
	return s
}

func (s *scene) newManager(source Source) *Manager {
	return New(Config{Source: source, Policy: credentials.Policy{Identity: identity}, Base: &rest.Config{QPS: 1e4, Burst: 1e4}, Clock: clock.RealClock{},
		Changed: func(change Change) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changes = append(s.changes, change)
		}})
}

// newHub starts a hub that records the serial number of each certificate that
// connects.
func (s *scene) newHub() *fakeapi.Server {
	s.t.Helper()
	return runtest.NewHub(s.t, s.ca, func(serial string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, serial)
	})
}

func (s *scene) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// serve watches the hub, as the mirror does.
func (s *scene) serve(ctx context.Context, config *rest.Config) error {
	s.serving.Add(1)
	s.started.Add(1)
	defer s.serving.Add(-1)
	client, err := kubeclient.New(config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		w, err := client.ConfigMaps("cluster1").Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			continue
		}
		for range w.ResultChan() {
		}
	}
	return nil
}

// run runs the manager until stop is called or the test ends.
func (s *scene) run(serve Serve) (stop func()) {
	s.t.Helper()
	return runtest.Start(s.t, func(ctx context.Context) error { return s.manager.Run(ctx, serve) })
}

func (s *scene) put(server string, cert, key []byte) {
	s.managed.Put("secrets", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "creds", Namespace: "copies"},
		Data: map[string][]byte{"kubeconfig": []byte(s.ca.Kubeconfig(server)), "tls.crt": cert, "tls.key": key}})
}

func (s *scene) eventually(what string, condition func() bool) {
	s.t.Helper()
	runtest.Eventually(s.t, what, condition, func() string {
		return fmt.Sprintf("ready: %v, status: %+v", s.manager.Ready(), s.manager.Status())
	})
}

func (s *scene) eventuallyNotReady(reason credentials.Reason) {
	s.t.Helper()
	s.eventually("not ready: "+string(reason), func() bool {
		err := s.manager.Ready()
		return err != nil && strings.Contains(err.Error(), string(reason)+":")
	})
}

func TestManagerWaitsAndConnects(t *testing.T) {
	s := newScene(t)
	s.managed.Put("secrets", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: "copies"}})
	stop := s.run(s.serve)
	s.eventuallyNotReady(credentials.SecretMissing)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, nil, key)
	s.eventuallyNotReady(credentials.CertificateMissing)
	s.put(s.hub.HTTP().URL, cert, key)
	s.eventually("connected", func() bool { return s.manager.Ready() == nil && s.connections() == 1 })
	stop()
	if s.serving.Load() != 0 {
		t.Errorf("still serving: %d", s.serving.Load())
	}
}

func TestManagerRotates(t *testing.T) {
	s := newScene(t)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(s.serve)
	s.eventually("connected", func() bool { return s.connections() == 1 })

	cert, key = s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.eventually("connected anew", func() bool { return s.connections() == 2 })
	s.mu.Lock()
	first, second := s.seen[0], s.seen[1]
	s.mu.Unlock()
	if first == second {
		t.Error("the second connection has the first certificate")
	}
	_, wrongKey := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, wrongKey)
	s.eventually("problem", func() bool { return s.problem() == credentials.KeyMismatch })
	s.managed.Remove("secrets", "copies", "creds")
	s.eventually("secret missed", func() bool { return s.problem() == credentials.SecretMissing })
	if err := s.manager.Ready(); err != nil || s.connections() != 2 || s.started.Load() != 1 {
		t.Errorf("the last good credentials are not in use: %v, %d connections, %d serves",
			err, s.connections(), s.started.Load())
	}
}

func TestManagerMovesToAnotherHub(t *testing.T) {
	s := newScene(t)
	other := s.newHub()
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(s.serve)
	s.eventually("connected", func() bool { return s.connections() == 1 })
	s.put(other.HTTP().URL, cert, key)
	s.eventually("watching the other hub", func() bool { return len(other.Requests()) > 0 })
	if s.serving.Load() != 1 || s.started.Load() != 2 {
		t.Errorf("%d serve at once of %d", s.serving.Load(), s.started.Load())
	}
}

func TestManagerReturnsTheErrorOfServe(t *testing.T) {
	s := newScene(t)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	broken := errors.New("broken")
	ended := make(chan error, 1)
	go func() {
		ended <- s.manager.Run(context.Background(), func(context.Context, *rest.Config) error { return broken })
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("did not return")
	}
}

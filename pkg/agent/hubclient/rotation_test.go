package hubclient

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/view"
)

// reader reads the hub's ConfigMaps by an informer, as the mirror does.
type reader struct {
	mu     sync.Mutex
	client *kubeclient.Client
	view   *view.View[*corev1.ConfigMap]
}

func (r *reader) serve(ctx context.Context, config *rest.Config) error {
	client, err := kubeclient.New(config)
	if err != nil {
		return err
	}
	v, err := view.New(ctx, "ConfigMaps", client.ConfigMaps("cluster1"), &corev1.ConfigMap{},
		func(c *corev1.ConfigMap) *corev1.ConfigMap { return c }, func(string) {})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.client, r.view = client, v
	r.mu.Unlock()
	v.Run()
	return nil
}

// value returns the content of ConfigMap x in the informer, or "".
func (r *reader) value() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view == nil {
		return ""
	}
	if c := r.view.Get("cluster1", "x"); c != nil {
		return c.Data["n"]
	}
	return ""
}

func (r *reader) get() error {
	_, err := r.client.ConfigMaps("cluster1").Get(context.Background(), "x", metav1.GetOptions{})
	return err
}

func (s *scene) write(hub *fakeapi.Server, n int) {
	hub.Put("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "cluster1"},
		Data: map[string]string{"n": fmt.Sprint(n)}})
}

// leafOf parses a certificate.
func leafOf(certPEM []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(certPEM)
	return x509.ParseCertificate(block.Bytes)
}

// inUse returns the serial number of the certificate in use.
func (s *scene) inUse() string {
	if c := s.manager.current(); c != nil {
		return c.Login.Certificate.Leaf.SerialNumber.String()
	}
	return ""
}

// rotate writes a new certificate into the Secret and waits until it is in use.
func (s *scene) rotate() string {
	s.t.Helper()
	cert, key := s.ca.Fresh()
	leaf, err := leafOf(cert)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(s.hub.HTTP().URL, cert, key)
	serial := leaf.SerialNumber.String()
	deadline := time.Now().Add(10 * time.Second)
	for s.inUse() != serial {
		if time.Now().After(deadline) {
			s.t.Fatalf("certificate %s is not in use within 10 s: %+v", serial, s.manager.Status())
		}
		time.Sleep(100 * time.Microsecond)
	}
	return serial
}

func (s *scene) lastSeen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1]
}

func (s *scene) hasSeen(serial string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, serial)
}

func count(requests []fakeapi.Request, verb, resource string) int {
	n := 0
	for _, r := range requests {
		if r.Verb == verb && r.Resource == resource {
			n++
		}
	}
	return n
}

// TestRotationsLoseNothing: a change right after a rotation arrives within 2 s, the
// informer continues with the new certificate, and a rotation costs at most one list.
func TestRotationsLoseNothing(t *testing.T) {
	const rotations = 20
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(r.serve)
	s.eventually("read", func() bool { return r.value() == "0" })
	s.hub.Requests()
	for i := 1; i <= rotations; i++ {
		serial := s.rotate()
		s.write(s.hub, i)
		want := fmt.Sprint(i)
		runtest.Within(t, 2*time.Second, "change "+want, func() bool { return r.value() == want })
		if i%10 == 0 {
			s.eventually("a watch under the new certificate", func() bool { return s.hasSeen(serial) })
		}
	}
	if lists := count(s.hub.Requests(), "list", "configmaps"); lists > rotations {
		t.Errorf("%d lists for %d rotations", lists, rotations)
	} else {
		t.Logf("%d lists for %d rotations", lists, rotations)
	}
}

// TestHundredRotations: the next request uses each new certificate, none fails, serve
// is not called again, and no goroutine remains.
func TestHundredRotations(t *testing.T) {
	const rotations = 100
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(r.serve)
	s.eventually("read", func() bool { return r.value() == "0" })
	if err := r.get(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for i := range rotations {
		serial := s.rotate()
		if err := r.get(); err != nil {
			t.Fatalf("request after rotation %d: %v", i, err)
		}
		if !s.hasSeen(serial) {
			t.Fatalf("rotation %d: the request did not come with certificate %s", i, serial)
		}
	}
	s.eventually("the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
	s.write(s.hub, 1)
	s.eventually("change after them", func() bool { return r.value() == "1" })
	s.mu.Lock()
	defer s.mu.Unlock()
	connected, rotated := 0, 0
	for _, change := range s.changes {
		switch change {
		case Connected:
			connected++
		case Rotated:
			rotated++
		default:
			t.Errorf("change %q", change)
		}
	}
	if connected != 1 || rotated != rotations {
		t.Errorf("%d times connected and %d times rotated", connected, rotated)
	}
}

// TestRequestsUnderWaySurviveARotation: a request that the hub answers only after
// the new certificate is in use.
func TestRequestsUnderWaySurviveARotation(t *testing.T) {
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	arrived, answer := make(chan struct{}), make(chan struct{})
	s.hub.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if r.Verb == "get" {
			close(arrived)
			<-answer
		}
		return nil
	}
	s.run(r.serve)
	s.eventually("read", func() bool { return r.value() == "0" })
	got := make(chan error, 1)
	go func() { got <- r.get() }()
	<-arrived
	s.rotate()
	close(answer)
	if err := <-got; err != nil {
		t.Errorf("the request failed: %v", err)
	}
}

// TestDropRejected: the connection ends when the Secret becomes unusable. A Secret that
// is created again makes a new connection, even with the same content.
func TestDropRejected(t *testing.T) {
	s := newScene(t)
	s.manager.config.DropRejected = true
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(s.serve)
	s.eventually("connected", func() bool { return s.manager.Ready() == nil && s.serving.Load() == 1 })
	s.managed.Remove("secrets", "copies", "creds")
	s.eventuallyNotReady(credentials.SecretMissing)
	if n := s.serving.Load(); n != 0 {
		t.Errorf("%d serve without credentials", n)
	}
	s.put(s.hub.HTTP().URL, cert, key)
	s.eventually("connected again", func() bool { return s.manager.Ready() == nil && s.started.Load() == 2 })
}

// TestNewCredentialsEndTheWait: informers back off for up to a minute while the hub
// refuses the old certificate. New credentials do not wait for them.
func TestNewCredentialsEndTheWait(t *testing.T) {
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	leaf, err := leafOf(cert)
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int32
	s.hub.Before = func(fakeapi.Request) *apierrors.StatusError {
		if s.lastSeen() == leaf.SerialNumber.String() {
			refused.Add(1)
			return apierrors.NewUnauthorized("not known")
		}
		return nil
	}
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(r.serve)
	s.eventually("tried three times", func() bool { return refused.Load() >= 3 })
	start := time.Now()
	s.rotate()
	s.eventually("read", func() bool { return r.value() == "0" })
	t.Logf("read %s after the new certificate", time.Since(start))
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.changes[len(s.changes)-1]; last != Connected {
		t.Errorf("%q, not a new connection", last)
	}
}

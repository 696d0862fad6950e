package hubclient

import (
	"context"
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

// value is what is known of the ConfigMap x.
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

// inUse is the serial number of the certificate in use.
func (s *scene) inUse() string {
	if c := s.manager.current(); c != nil {
		return c.Login.Certificate.Leaf.SerialNumber.String()
	}
	return ""
}

// rotate puts a new certificate into the secret and waits until it is in use.
func (s *scene) rotate() string {
	s.t.Helper()
	cert, key := s.ca.Fresh()
	leaf, err := parseLeaf(cert)
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

// TestRotationsLoseNothingAndListNothing: watches go on under the new
// certificate from where they were, also when one renewal follows the other
// faster than client-go allows watches to end.
func TestRotationsLoseNothingAndListNothing(t *testing.T) {
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(r.serve)
	s.eventually("read", func() bool { return r.value() == "0" })
	if lists := count(s.hub.Requests(), "list", "configmaps"); lists != 1 {
		t.Fatalf("%d lists at the start", lists)
	}
	for i := 1; i <= 20; i++ {
		serial := s.rotate()
		s.write(s.hub, i)
		want := fmt.Sprint(i)
		s.eventually("change "+want, func() bool { return r.value() == want })
		if i%10 == 0 {
			s.eventually("a watch under the new certificate", func() bool { return s.hasSeen(serial) })
		}
	}
	s.eventually("retired transports are gone", func() bool { return s.transports() == 1 })
	lists, watches := 0, 0
	s.eventually("two watches", func() bool {
		requests := s.hub.Requests()
		lists += count(requests, "list", "configmaps")
		watches += count(requests, "watch", "configmaps")
		return watches >= 2
	})
	if lists != 0 || watches > 20 {
		t.Errorf("%d lists and %d watches for 20 rotations", lists, watches)
	}
}

// transports counts those of the running session that are not closed.
func (s *scene) transports() int {
	s.mu.Lock()
	connection := s.connection
	s.mu.Unlock()
	connection.mu.Lock()
	defer connection.mu.Unlock()
	return len(connection.retired) + 1
}

// TestThousandRotations: each is used by the next request, none fails, and
// nothing is left of them.
func TestThousandRotations(t *testing.T) {
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	s.put(s.hub.HTTP().URL, cert, key)
	s.run(r.serve)
	s.eventually("read", func() bool { return r.value() == "0" })
	s.rotate()
	if err := r.get(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	start := time.Now()
	for i := range 1000 {
		serial := s.rotate()
		if err := r.get(); err != nil {
			t.Fatalf("request after rotation %d: %v", i, err)
		}
		if !s.hasSeen(serial) {
			t.Fatalf("rotation %d: the request did not come with certificate %s", i, serial)
		}
	}
	t.Logf("1000 rotations took %s", time.Since(start))
	s.write(s.hub, 1)
	s.eventually("change after them", func() bool { return r.value() == "1" })
	s.eventually("retired transports are gone", func() bool { return s.transports() == 1 })
	s.eventually("the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+5 })
	if lists := count(s.hub.Requests(), "list", "configmaps"); lists != 1 {
		t.Errorf("%d lists", lists)
	}
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
			t.Errorf("told of %q", change)
		}
	}
	if connected != 1 || rotated != 1001 {
		t.Errorf("told of %d connections and %d rotations", connected, rotated)
	}
}

// TestRequestsOnTheirWaySurviveARotation: and the sockets go when they are over.
func TestRequestsOnTheirWaySurviveARotation(t *testing.T) {
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
	if n := s.transports(); n != 2 {
		t.Errorf("%d transports while a request is on its way", n)
	}
	close(answer)
	if err := <-got; err != nil {
		t.Errorf("the request failed: %v", err)
	}
	s.eventually("the old transport is gone", func() bool { return s.transports() == 1 })
}

// TestNewCredentialsEndTheWait: those who use a connection on which the hub
// refuses the old certificate wait up to a minute before they try again; new
// credentials do not wait for them.
func TestNewCredentialsEndTheWait(t *testing.T) {
	s, r := newScene(t), &reader{}
	s.write(s.hub, 0)
	cert, key := s.ca.Fresh()
	leaf, err := parseLeaf(cert)
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

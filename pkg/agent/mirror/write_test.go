package mirror

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// recorder is a Writer that answers with err.
type recorder struct {
	verbs   []string
	deletes []metav1.DeleteOptions
	err     error
}

func (r *recorder) Create(_ context.Context, cm *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	r.verbs = append(r.verbs, "create")
	return cm, r.err
}

func (r *recorder) Update(_ context.Context, cm *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	r.verbs = append(r.verbs, "update")
	return cm, r.err
}

func (r *recorder) Delete(_ context.Context, _ string, options metav1.DeleteOptions) error {
	r.verbs, r.deletes = append(r.verbs, "delete"), append(r.deletes, options)
	return r.err
}

func (r *recorder) Get(_ context.Context, _ string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{}, r.err
}

func TestWrite(t *testing.T) {
	uid, version := types.UID("u"), "7"
	guarded := []metav1.DeleteOptions{{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}}
	tests := []struct {
		kind    plan.Kind
		verbs   []string
		deletes []metav1.DeleteOptions
	}{
		{plan.Ignore, nil, nil},
		{plan.InSync, nil, nil},
		{plan.Conflict, nil, nil},
		{plan.Wait, nil, nil},
		{plan.Create, []string{"create"}, nil},
		{plan.Update, []string{"update"}, nil},
		{plan.Delete, []string{"delete"}, guarded},
		{plan.Replace, []string{"delete", "create"}, guarded},
	}
	for _, test := range tests {
		t.Run(string(test.kind), func(t *testing.T) {
			writer := &recorder{}
			action := plan.Action{Kind: test.kind, Name: "a", Object: &corev1.ConfigMap{}, UID: uid, ResourceVersion: version}
			if err := write(context.Background(), writer, action); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.verbs, writer.verbs); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.deletes, writer.deletes); diff != "" {
				t.Errorf("delete options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteDistinguishesStaleFromRefused(t *testing.T) {
	group := schema.GroupResource{Resource: "configmaps"}
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	tests := []struct {
		name  string
		kind  plan.Kind
		err   error
		stale bool
	}{
		{"another writer was faster", plan.Create, apierrors.NewAlreadyExists(group, "a"), true},
		{"changed since", plan.Update, apierrors.NewConflict(group, "a", nil), true},
		{"gone since", plan.Update, apierrors.NewNotFound(group, "a"), true},
		{"another object since", plan.Delete, apierrors.NewConflict(group, "a", nil), true},
		{"deleted since", plan.Delete, apierrors.NewNotFound(group, "a"), true},
		{"no namespace", plan.Create, apierrors.NewNotFound(group, "a"), false},
		{"the namespace goes", plan.Create, terminating, false},
		{"no right", plan.Update, apierrors.NewForbidden(group, "a", nil), false},
		{"no answer", plan.Delete, context.DeadlineExceeded, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			action := plan.Action{Kind: test.kind, Name: "a", Object: &corev1.ConfigMap{}}
			err := write(context.Background(), &recorder{err: test.err}, action)
			if !errors.Is(err, test.err) || errors.Is(err, plan.ErrStale) != test.stale {
				t.Errorf("got %v, want stale %t", err, test.stale)
			}
		})
	}
}

// TestCutConnectionsAreReportedOnce: each error of a cut connection names another
// port of the agent, and is the same failure.
func TestCutConnectionsAreReportedOnce(t *testing.T) {
	observer := &watcher{}
	c := New(Config{Scope: scope, Clock: clocktesting.NewFakeClock(start), Observer: observer})
	t.Cleanup(c.queue.ShutDown)
	source := plan.NewSource(configmaps.New("a", nil))
	look := func() (*plan.Source, *plan.Copy) { return source, nil }
	for i := range 2 {
		writer := &recorder{err: &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 40000 + i},
			Addr: &net.TCPAddr{Port: 6443}, Err: syscall.ECONNRESET}}
		turn, _ := c.begin("a", look)
		err := write(t.Context(), writer, turn.Action)
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("got %v, want the connection's error", err)
		}
		_ = c.end(t.Context(), turn, source, err)
		if got := len(observer.failures); got != 1 {
			t.Errorf("attempt %d: %s: reported %d times", i+1, err, got)
		}
	}
}

// TestControllerIsStuck: failed writes reach the health check, until one succeeds.
func TestControllerIsStuck(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	c := New(Config{Scope: scope, Clock: clock, Observer: &watcher{}})
	t.Cleanup(c.queue.ShutDown)
	look := func() (*plan.Source, *plan.Copy) { return plan.NewSource(configmaps.New("a", nil)), nil }
	create := func(err error) {
		turn, source := c.begin("a", look)
		_ = c.end(t.Context(), turn, source, err)
	}
	create(errors.New("create ConfigMap a: connection refused"))
	if err := c.Stuck(); err != nil {
		t.Errorf("at once: %v", err)
	}
	clock.Step(2 * time.Minute)
	create(&plan.StaleError{Operation: "create ConfigMap a", Cause: errors.New("it is there")})
	if err := c.Stuck(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("after two minutes: %v", err)
	}
	create(nil)
	if err := c.Stuck(); err != nil {
		t.Errorf("after a write that worked: %v", err)
	}
}

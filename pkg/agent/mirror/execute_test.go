package mirror

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

func TestExecute(t *testing.T) {
	uid, version := types.UID("u"), "7"
	guarded := []metav1.DeleteOptions{{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}}
	tests := []struct {
		kind    Kind
		verbs   []string
		deletes []metav1.DeleteOptions
	}{
		{Ignore, nil, nil},
		{InSync, nil, nil},
		{Conflict, nil, nil},
		{Wait, nil, nil},
		{Create, []string{"create"}, nil},
		{Update, []string{"update"}, nil},
		{Delete, []string{"delete"}, guarded},
		{Replace, []string{"delete", "create"}, guarded},
	}
	for _, test := range tests {
		t.Run(string(test.kind), func(t *testing.T) {
			writer := &recorder{}
			action := Action{Kind: test.kind, Name: "a", Object: &corev1.ConfigMap{}, UID: uid, ResourceVersion: version}
			if err := execute(context.Background(), writer, action); err != nil {
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

func TestExecuteTellsStaleFromRefused(t *testing.T) {
	group := schema.GroupResource{Resource: "configmaps"}
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}}}
	tests := []struct {
		name  string
		kind  Kind
		err   error
		stale bool
	}{
		{"somebody was faster", Create, apierrors.NewAlreadyExists(group, "a"), true},
		{"changed since", Update, apierrors.NewConflict(group, "a", nil), true},
		{"gone since", Update, apierrors.NewNotFound(group, "a"), true},
		{"another object since", Delete, apierrors.NewConflict(group, "a", nil), true},
		{"deleted since", Delete, apierrors.NewNotFound(group, "a"), true},
		{"no namespace", Create, apierrors.NewNotFound(group, "a"), false},
		{"the namespace goes", Create, terminating, false},
		{"no right", Update, apierrors.NewForbidden(group, "a", nil), false},
		{"no answer", Delete, context.DeadlineExceeded, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			action := Action{Kind: test.kind, Name: "a", Object: &corev1.ConfigMap{}}
			err := execute(context.Background(), &recorder{err: test.err}, action)
			if !errors.Is(err, test.err) || errors.Is(err, errStale) != test.stale {
				t.Errorf("got %v, want stale %t", err, test.stale)
			}
		})
	}
}

// TestCutConnectionsAreToldOnce: each names another port of the agent's own, which
// makes no other failure of it.
func TestCutConnectionsAreToldOnce(t *testing.T) {
	known := failures{}
	for i, want := range []change{appeared, unchanged} {
		writer := &recorder{err: &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 40000 + i},
			Addr: &net.TCPAddr{Port: 6443}, Err: syscall.ECONNRESET}}
		action := Action{Kind: Create, Name: "a", Object: &corev1.ConfigMap{}}
		err := execute(t.Context(), writer, action)
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("got %v, want the connection's error", err)
		}
		if got := known.record(action, err); got != want {
			t.Errorf("time %d: %s: got change %d, want %d", i+1, err, got, want)
		}
	}
}

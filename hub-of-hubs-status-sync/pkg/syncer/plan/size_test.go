package plan

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestTooLarge: only errors that a smaller status may avoid.
func TestTooLarge(t *testing.T) {
	internal := func(message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: message}}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "policies"}, "x", errors.New("it changed"))
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"the request is too large for the API server", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		{"the object is too large for etcd", internal("etcdserver: request is too large"), true},
		{"the object is too large to be sent to etcd",
			internal("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2100000 vs. 2097152)"), true},
		{"one of several writes", errors.Join(conflict, fmt.Errorf("update: %w", internal("etcdserver: request is too large"))), true},
		{"a quota, which is not about the status", apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("the number exceeds limits")), false},
		{"a webhook's own rule", internal(`admission webhook "w" denied the request: the name exceeds limit`), false},
		{"not an answer of the API server", errors.New("proxy: etcdserver: request is too large"), false},
		{"a conflict", conflict, false},
	} {
		if got := TooLarge(fmt.Errorf("update Policy ns/x: %w", c.err)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// observation is the error of a check that has read a state other than the
// expected one. Any other error says nothing about the state, for example that of
// a request which timed out.
type observation struct{ error }

func (o observation) Unwrap() error { return o.error }

func isObservation(err error) bool {
	var found observation
	return errors.As(err, &found)
}

// fatal returns a check that fails the test at once when c observes another state
// than the expected one. Other errors are c's, to be polled again.
func fatal(t *testing.T, what string, c check) check {
	return func(ctx context.Context) error {
		err := c(ctx)
		if isObservation(err) {
			t.Fatalf("%s: %v", what, err)
		}
		return err
	}
}

// observations returns a check that has c's observations alone: for consistently,
// which allows no error.
func observations(c check) check {
	return func(ctx context.Context) error {
		if err := c(ctx); isObservation(err) {
			return err
		}
		return nil
	}
}

// unless turns a check round. A request that failed stays an error.
func unless(err error, state string) error {
	switch {
	case err == nil:
		return errors.New(state)
	case isObservation(err):
		return nil
	default:
		return err
	}
}

// TestObservations needs no cluster.
func TestObservations(t *testing.T) {
	lost := observation{errors.New("a copy is gone")}
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"expected state", nil, false},
		{"request timed out", fmt.Errorf("list copies: %w", context.DeadlineExceeded), false},
		{"wrong state", lost, true},
		{"wrong state of one cluster", fmt.Errorf("cluster1: %w", lost), true},
		{"wrong state among failed requests", errors.Join(context.DeadlineExceeded, lost), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := observations(func(context.Context) error { return test.err })(t.Context())
			if diff := cmp.Diff(test.want, err != nil); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
			// A canary that cannot be read is not known to be unavailable.
			turned := unless(test.err, "it is available")
			if diff := cmp.Diff(!test.want, turned != nil); diff != "" {
				t.Errorf("turned round (-want +got):\n%s", diff)
			}
		})
	}
}

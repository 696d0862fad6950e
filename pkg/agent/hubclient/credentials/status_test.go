package credentials

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStateOf(t *testing.T) {
	inUse := Status{Source: "secret n/s", Server: "https://hub", NotAfter: now.Add(time.Hour)}
	with := func(s Status, problem *Error) Status {
		s.Problem = problem
		return s
	}
	over := inUse
	over.NotAfter = now
	mismatch := Errorf(KeyMismatch, "they do not belong together")
	refused := errors.New("dial tcp: connection refused")
	tests := []struct {
		name     string
		status   Status
		answered bool
		trouble  error
		want     State
	}{
		{name: "just started", status: Status{Source: "secret n/s"}},
		{name: "connecting", status: inUse},
		{name: "connected", status: inUse, answered: true,
			want: State{HubConnected, "connected to https://hub until 2026-05-01T13:00:00Z", false}},
		{name: "connected with a token without an end", status: Status{Server: "https://hub"}, answered: true,
			want: State{HubConnected, "connected to https://hub", false}},
		{name: "waiting", status: with(Status{Source: "secret n/s"}, Errorf(SecretMissing, "not written yet")),
			want: State{SecretMissing, "secret n/s: SecretMissing: not written yet", true}},
		{name: "the last good ones stay in use", status: with(inUse, mismatch), answered: true,
			want: State{KeyMismatch, "secret n/s cannot be used, the last good credentials stay in use until " +
				"2026-05-01T13:00:00Z: KeyMismatch: they do not belong together", true}},
		{name: "the last good ones have expired", status: with(over, mismatch), answered: true,
			want: State{KeyMismatch, "the credentials in use expired at 2026-05-01T12:00:00Z, and secret n/s has no better ones: " +
				"KeyMismatch: they do not belong together", true}},
		{name: "those in use have expired a moment ago", status: over, answered: true,
			want: State{CertificateExpired, "the credentials in use expired at 2026-05-01T12:00:00Z, and secret n/s has no better ones", true}},
		{name: "the hub is away", status: inUse, answered: true, trouble: refused,
			want: State{HubUnreachable, "dial tcp: connection refused", true}},
		{name: "the hub does not know who asks", status: inUse, trouble: apierrors.NewUnauthorized("who?"),
			want: State{HubRefusesCredentials, "who?", true}},
		{name: "the hub does not allow it", status: inUse,
			trouble: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role")),
			want:    State{HubForbids, "configmaps is forbidden: no role", true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := StateOf(test.status, test.answered, test.trouble, now)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got.Message, "\n") {
				t.Errorf("more than a line: %q", got.Message)
			}
		})
	}
}

func TestSameState(t *testing.T) {
	state := func(reason Reason, message string) State { return State{Reason: reason, Message: message} }
	tests := []struct {
		name string
		a, b State
		want bool
	}{
		{"the same", state(KeyMismatch, "m"), state(KeyMismatch, "m"), true},
		{"another reason", state(KeyMismatch, "m"), state(KeyMissing, "m"), false},
		{"renewed", state(HubConnected, "until 1"), state(HubConnected, "until 2"), false},
		{"away, in other words", state(HubUnreachable, "refused"), state(HubUnreachable, "timeout"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.Same(test.b); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

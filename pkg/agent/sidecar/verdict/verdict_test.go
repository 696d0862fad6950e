package verdict

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOfRequest(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	get := func(err error) error {
		return fmt.Errorf("get lease: %w", &url.Error{Op: "Get", URL: "https://hub:6443/", Err: err})
	}
	tests := []struct {
		name string
		err  error
		want Reason
	}{
		{"no right", fmt.Errorf("create lease: %w", apierrors.NewForbidden(leases, "", errors.New("no"))), LeaseForbidden},
		{"unknown user", fmt.Errorf("get lease: %w", apierrors.NewUnauthorized("Unauthorized")), LeaseUnauthorized},
		{"no namespace", fmt.Errorf("create lease: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "cluster1")), LeaseNamespaceMissing},
		{"overloaded", fmt.Errorf("get lease: %w", apierrors.NewTooManyRequestsError("wait")), LeaseFailed},
		{"refused connection", get(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), ServerUnreachable},
		{"no answer", get(context.DeadlineExceeded), ServerUnreachable},
		{"unknown host", get(&net.DNSError{Err: "no such host", Name: "hub", IsNotFound: true}), ServerUnreachable},
		{"another CA", get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), ServerUntrusted},
		{"anything else", errors.New("x"), LeaseFailed},
	}
	for _, test := range tests {
		cause := OfRequest(test.err, "the hub")
		if cause.Reason != test.want || !strings.Contains(cause.Message, test.err.Error()) {
			t.Errorf("%s: got %v, want %s with the error", test.name, cause, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	down := errors.New("connection refused")
	pod, secret := &Cause{PodNotReady, "pod"}, &Cause{SecretMissing, "secret"}
	tests := []struct {
		name, reason string
		after        time.Duration
		situation    Situation
		want         Reason
	}{
		{"all is well", "", time.Hour, Situation{}, ""},
		{"within the delay", "whatever the rest says", 9 * time.Second, Situation{Delay: 10 * time.Second, Pod: pod}, Starting},
		{"after the delay", "", 10 * time.Second, Situation{Delay: 10 * time.Second, Pod: pod}, PodNotReady},
		{"not read yet", "nothing is known", time.Hour, Situation{Unread: true, Pod: pod}, Starting},
		{"cannot be read at all", "a right is missing", time.Hour, Situation{Unread: true, Unreadable: down, UnreadableSince: start.Add(time.Hour)}, ClusterUnreadable},
		{"cannot be read for a short time", "the API server restarts, the pod runs on", time.Hour,
			Situation{Unreadable: down, UnreadableSince: start.Add(59 * time.Minute), Patience: time.Minute}, ""},
		{"cannot be read for long", "the pod may have ended long ago", time.Hour,
			Situation{Unreadable: down, UnreadableSince: start.Add(58 * time.Minute), Patience: time.Minute}, ClusterUnreadable},
		{"no secret, and no pod", "the secret comes first: it is what is waited for", time.Hour, Situation{Pod: pod, Credentials: secret}, SecretMissing},
	}
	for _, test := range tests {
		test.situation.Started = start
		cause := Judge(test.situation, start.Add(test.after))
		if cause == nil {
			cause = &Cause{}
		}
		if cause.Reason != test.want {
			t.Errorf("%s: got %q, want %q: %s", test.name, cause.Reason, test.want, test.reason)
		}
	}
}

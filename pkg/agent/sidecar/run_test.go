package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakepki"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar/verdict"
)

func TestWaitsForTheSecret(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.onHub()
	s.stops(verdict.SecretMissing)
	if code, body := runtest.Get(s.health, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "[-] hub-credentials: SecretMissing: secret addons/creds: ") {
		t.Errorf("readyz: %d %s", code, body)
	}
	if s.hub.Get("leases", "cluster1", "mine") != nil {
		t.Error("there is a lease")
	}
	if events := s.managed.List("events", "addons"); len(events) != 1 || events[0].(*corev1.Event).Count != 1 {
		t.Errorf("%d events, or one that is repeated, for one cause", len(events))
	}
	if got := s.metric("klusterlet_addon_lease_duration_seconds"); got != "1" {
		t.Errorf("the duration in the metrics is %q, want 1, also before the first renewal", got)
	}
	s.put(s.data())
	s.renews("once the secret is there")
	lease := s.hub.Get("leases", "cluster1", "mine").(*coordinationv1.Lease)
	if *lease.Spec.HolderIdentity != "pod-1" || *lease.Spec.LeaseDurationSeconds != 1 || lease.Spec.RenewTime == nil {
		t.Errorf("lease %+v", lease.Spec)
	}
	if code, body := runtest.Get(s.health, "/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %s", body)
	}
	s.eventually("the event that it renews", func() bool { return s.hasEvent(reasonRenewing) })
	if s.metric("klusterlet_addon_lease_seconds_since_renewal") == "" || s.metric("klusterlet_addon_lease_hub_certificate_expiration_timestamp_seconds") == "" {
		t.Error("metrics lack the time since the last renewal, or the certificate's expiry")
	}
	s.noFailure()
}

// TestRenewsOncePerDuration: each cluster's renewals are a load on the one hub.
func TestRenewsOncePerDuration(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.period = 0
	s.put(s.data())
	s.onHub()
	s.eventually("the first renewal", func() bool { return s.hub.Get("leases", "cluster1", "mine") != nil })
	renewed := func() time.Time {
		return s.hub.Get("leases", "cluster1", "mine").(*coordinationv1.Lease).Spec.RenewTime.Time
	}
	first := renewed()
	last := first
	for range 2 {
		before := last
		s.eventually("the next renewal", func() bool { last = renewed(); return last.After(before) })
	}
	// The first of them may come after any part of the duration.
	if took := last.Sub(first); took < time.Second {
		t.Errorf("renewed twice within %s, want a second or more", took)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.put(s.data())
	s.onHub()
	s.renews("before")
	for range 3 {
		s.put(s.data())
		serial := fmt.Sprint(s.ca.Serial())
		s.eventually("the new certificate is used", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.serial == serial
		})
		s.renews("after a rotation")
	}
	s.noFailure()
}

func TestSecretRecreated(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	data := s.data()
	s.put(data)
	s.onHub()
	s.renews("before")
	s.managed.Remove("secrets", "addons", "creds")
	s.stops(verdict.SecretMissing)
	s.put(data)
	s.renews("with the same secret again")
	s.noFailure()
}

func TestBadSecretsAreNamedAndForgiven(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	good := s.data()
	old, oldKey := s.ca.Issue("agent", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	s.onHub()
	for _, bad := range []struct {
		reason verdict.Reason
		data   map[string][]byte
	}{
		{verdict.KubeconfigMissing, map[string][]byte{}},
		{verdict.KubeconfigInvalid, map[string][]byte{"kubeconfig": []byte("{")}},
		{verdict.CertificateExpired, map[string][]byte{"kubeconfig": good["kubeconfig"], "tls.crt": old, "tls.key": oldKey}},
	} {
		s.put(bad.data)
		s.stops(bad.reason)
		s.put(good)
		s.renews("once it is good again")
	}
}

// TestExpiryOfAnExpiredCertificate: the metric is what an alert on the certificate looks
// at, also when the certificate has expired before it came into use.
func TestExpiryOfAnExpiredCertificate(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	expired := time.Now().Add(-time.Hour).Truncate(time.Second)
	data := s.data()
	data["tls.crt"], data["tls.key"] = s.ca.Issue("agent", expired.Add(-time.Hour), expired)
	s.put(data)
	s.onHub()
	s.eventually("the certificate's expiry", func() bool {
		value, err := strconv.ParseFloat(s.metric("klusterlet_addon_lease_hub_certificate_expiration_timestamp_seconds"), 64)
		return err == nil && int64(value) == expired.Unix()
	})
}

func TestFailuresOfTheHubAreNamedAndForgiven(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var refuse atomic.Pointer[apierrors.StatusError]
	refuse.Store(apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "mine", nil))
	s.hub.Before = func(fakeapi.Request) *apierrors.StatusError { return refuse.Load() }
	s.put(s.data())
	s.onHub()
	s.stops(verdict.LeaseForbidden)
	refuse.Store(apierrors.NewUnauthorized("Unauthorized"))
	s.stops(verdict.LeaseUnauthorized)
	refuse.Store(nil)
	s.renews("once the hub lets it")
	if !strings.Contains(func() string { _, body := runtest.Get(s.metrics, "/metrics"); return body }(),
		`klusterlet_addon_lease_renewal_failures_total{reason="LeaseForbidden"}`) {
		t.Error("the failures are not counted")
	}
}

// TestUntrustedHub: the reason is that of the certificate, although the first request
// is a read, whose error hubclient replaces.
func TestUntrustedHub(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	data := s.data()
	data["kubeconfig"] = []byte(fakepki.New(t).Kubeconfig(s.hub.HTTP().URL))
	s.put(data)
	s.onHub()
	s.stops(verdict.ServerUntrusted)
	s.put(s.data())
	s.renews("once the certificate authority is right")
}

func TestOnlyWhileThePodWorks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.put(s.data())
	s.onHub()
	s.renews("before")
	s.managed.Put("pods", podWith(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}))
	s.stops(verdict.ContainerNotReady)
	s.managed.Put("pods", podWith(running))
	s.renews("once it works again")
	s.managed.Remove("pods", "addons", "pod-1")
	s.eventually("stops", func() bool {
		_, body := runtest.Get(s.health, "/readyz")
		return strings.Contains(body, string(verdict.PodMissing))
	})
	s.noFailure()
}

func TestLeaseDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.put(s.data())
	s.onHub()
	s.renews("before")
	s.hub.Remove("leases", "cluster1", "mine")
	s.eventually("created again", func() bool { return s.hub.Get("leases", "cluster1", "mine") != nil })
	s.noFailure()
}

func TestOnTheManagedCluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.start("-lease-location=managed")
	s.renews("without a secret")
	if s.managed.Get("leases", "addons", "mine") == nil {
		t.Error("there is no lease in the install namespace")
	}
	if len(s.hub.Requests()) > 0 {
		t.Error("the hub was asked")
	}
}

// TestOnADevelopersMachine: without -kubeconfig the managed cluster is that of
// $KUBECONFIG.
func TestOnADevelopersMachine(t *testing.T) {
	s := newScene(t)
	s.period = 0
	runtest.NoCluster(t)
	t.Setenv("KUBECONFIG", "/no/such/file:"+runtest.Kubeconfig(t, s.managed))
	s.put(s.data())
	s.start("-kubeconfig=", "-lease-namespace=cluster1", "-hub-kubeconfig-secret=creds")
	s.renews("with $KUBECONFIG")
	s.noFailure()
}

// TestStartNamesWhatItIgnores: the log names flags of the original, which have no effect,
// and a lease duration that is longer than OCM waits.
func TestStartNamesWhatItIgnores(t *testing.T) {
	for _, test := range []struct {
		name, args, text string
		want             bool
	}{
		{"flags of the original", "-metrics-host=0.0.0.0 -metrics-port=8384", `"Ignored flags of the original program" flags=["-metrics-host","-metrics-port"] use="-metrics-bind-address"`, true},
		{"none of them", "", "Ignored flags", false},
		{"a long lease that OCM reads", "-lease-location=managed -lease-duration=241", `"Found a lease duration that may be too long for OCM" leaseDuration="4m1s" unavailableAfter="5m0s"`, true},
		{"one that is short enough", "-lease-location=managed -lease-duration=240", "too long for OCM", false},
		{"a long lease that OCM does not read", "-lease-duration=241", "too long for OCM", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs := runtest.ProcessLogs(t)
			runtest.NoCluster(t)
			args := append(strings.Fields(test.args), "-lease-name=a", "-lease-namespace=b")
			if err := Main(t.Context(), args, inPod, io.Discard); err == nil {
				t.Fatal("it runs without a cluster")
			}
			klog.Flush()
			if logs.Contain(test.text) != test.want {
				t.Errorf("want %t: %s, got %s", test.want, test.text, logs)
			}
		})
	}
}

// TestOnlyOneSecretAndOnePodAreRead: the sidecar selects both by name, as its Role
// allows.
func TestOnlyOneSecretAndOnePodAreRead(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.put(s.data())
	s.onHub()
	s.renews("before")
	for _, query := range s.managed.Selectors() {
		if query != "secrets metadata.name=creds" && query != "pods metadata.name=pod-1" {
			t.Errorf("reads %s", query)
		}
	}
}

// brokenSource is a source that cannot start.
type brokenSource struct{ hubclient.Source }

var errBroken = errors.New("broken")

func (brokenSource) String() string                    { return "broken source" }
func (brokenSource) Run(context.Context, func()) error { return errBroken }

// TestKeeperEndsTheProgram: without the manager of the hub's connection no lease would
// ever be renewed. So its error ends the program, and with it the watch of the pod.
func TestKeeperEndsTheProgram(t *testing.T) {
	managed, err := managedClient(runtest.Kubeconfig(t, newScene(t).managed))
	if err != nil {
		t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(t.Context())
	k, err := newKeeper(ctx, &Options{PodNamespace: "addons", PodName: "pod-1"}, managed, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	k.hub = hubclient.New(hubclient.Config{Source: brokenSource{}, Clock: clock.RealClock{}})
	k.start(ctx, group)
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	select {
	case err := <-ended:
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v, want %v", err, errBroken)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the keeper runs on without its connection to the hub")
	}
}

func TestWrongUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	runtest.NoCluster(t)
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScene(t)
	good := runtest.Kubeconfig(t, s.managed)
	names := "-lease-name=a -lease-namespace=b "
	for args, want := range map[string]string{
		"":                                  "-lease-name is required",
		names:                               "not running in a pod, so give a kubeconfig file by -kubeconfig or $KUBECONFIG",
		names + "-kubeconfig=/no/such/file": "read -kubeconfig=/no/such/file: ",
		names + "-kubeconfig=" + garbage:    "read -kubeconfig=" + garbage,
		names + "-kubeconfig=" + good + " -health-bind-address=" + taken.Addr().String(): "listen on --health-bind-address",
		names + "-kubeconfig=" + good + " -health-bind-address=0 -metrics-bind-address=" +
			taken.Addr().String(): "listen on --metrics-bind-address",
	} {
		err := Main(t.Context(), strings.Fields(args), inPod, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", args, err, want)
		}
	}
}

package controller

import (
	"context"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
)

func TestQuietNext(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(first, since time.Duration) observed { return observed{now.Add(-first), "7", now.Add(-since)} }
	tests := []struct {
		name, reason string
		seen         observed
		version      string
		want         time.Duration
		unapplied    bool
	}{
		{"the first look", "it is not known for how long the add-on has been unchanged", observed{}, "7", quietFor, false},
		{"unchanged for a while", "", ago(time.Second, 200*time.Millisecond), "7", 300 * time.Millisecond, false},
		{"unchanged for long enough", "", ago(time.Second, quietFor), "7", 0, false},
		{"changed", "the next write may follow soon", ago(time.Second, quietFor), "8", quietFor, false},
		{"not applied yet", "the work agent's report is still to come", ago(time.Second, quietFor), "7", quietFor, true},
		{"not applied for too long", "the cluster may have no work agent", ago(quietWithin, quietFor), "7", 0, true},
		{"the last look", "the agent waits for its certificate", ago(quietWithin-100*time.Millisecond, quietFor), "8", 100 * time.Millisecond, false},
		{"changes for too long", "an add-on that never settles gets its certificate, too", ago(quietWithin, quietFor), "8", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, got := test.seen.next(test.version, !test.unapplied, now); got != test.want {
				t.Errorf("waits %s, want %s: %s", got, test.want, test.reason)
			}
		})
	}
}

// quietWorld is a quiet with one request and one add-on in its caches.
type quietWorld struct {
	*quiet
	clock    *clocktesting.FakeClock
	requests cache.Indexer
	request  *certificatesv1.CertificateSigningRequest
	addOns   cache.Indexer
	addOn    *addonv1beta1.ManagedClusterAddOn
}

func newQuietWorld(t *testing.T) *quietWorld {
	t.Helper()
	w := &quietWorld{
		clock:    clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
		requests: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		addOns:   cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		request: &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{
			Name: "addon-cluster1-helloworld-x", Labels: map[string]string{clusterv1.ClusterNameLabelKey: "cluster1"}}},
		addOn: hubobjects.AddOn("cluster1", ""),
	}
	w.addOn.Status.Conditions = append(w.addOn.Status.Conditions, metav1.Condition{Type: addonv1beta1.ManagedClusterAddOnManifestApplied, Status: metav1.ConditionTrue})
	w.quiet = newQuiet(certificateslisters.NewCertificateSigningRequestLister(w.requests), addonlisters.NewManagedClusterAddOnLister(w.addOns), w.clock)
	w.store(t)
	return w
}

func (w *quietWorld) store(t *testing.T) {
	t.Helper()
	if err := w.requests.Add(w.request); err != nil {
		t.Fatal(err)
	}
	if err := w.addOns.Add(w.addOn); err != nil {
		t.Fatal(err)
	}
}

// TestQuiet: which requests wait. A request that is approved, denied or gone leaves nothing behind.
func TestQuiet(t *testing.T) {
	tests := []struct {
		name, reason string
		change       func(*testing.T, *quietWorld)
		want         time.Duration
		forgotten    bool
	}{
		{"the first certificate", "the add-on is being enabled", func(*testing.T, *quietWorld) {}, quietFor, false},
		{"its manifests are not applied yet", "", func(t *testing.T, w *quietWorld) {
			w.addOn.Status.Conditions = nil
			w.store(t)
			w.clock.Step(time.Second)
		}, quietFor, false},
		{"unchanged", "its approval may fail and be tried again", func(_ *testing.T, w *quietWorld) { w.clock.Step(time.Second) }, 0, false},
		{"a renewal", "nothing else writes the add-on then", func(t *testing.T, w *quietWorld) {
			w.addOn.Status.Conditions = append(w.addOn.Status.Conditions, metav1.Condition{Type: certificateRotated, Status: metav1.ConditionTrue})
			w.store(t)
		}, 0, true},
		{"approved", "there is nothing to approve", func(t *testing.T, w *quietWorld) {
			w.request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
			w.store(t)
		}, 0, true},
		{"denied", "", func(t *testing.T, w *quietWorld) {
			w.request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
			w.store(t)
		}, 0, true},
		{"the request is gone", "", func(t *testing.T, w *quietWorld) {
			if err := w.requests.Delete(w.request); err != nil {
				t.Fatal(err)
			}
		}, 0, true},
		{"the add-on is gone", "", func(t *testing.T, w *quietWorld) {
			if err := w.addOns.Delete(w.addOn); err != nil {
				t.Fatal(err)
			}
		}, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newQuietWorld(t)
			w.wait(w.request.Name)
			test.change(t, w)
			if got := w.wait(w.request.Name); got != test.want {
				t.Errorf("waits %s, want %s: %s", got, test.want, test.reason)
			}
			if kept := len(w.waiting); kept > 0 && test.forgotten {
				t.Error("a request that does not wait is kept in memory")
			}
		})
	}
}

// TestQuietEnds: a request waits as long as the add-on changes, at most quietWithin.
func TestQuietEnds(t *testing.T) {
	for _, changes := range []bool{false, true} {
		w := newQuietWorld(t)
		start := w.clock.Now()
		for after := w.wait(w.request.Name); after > 0; after = w.wait(w.request.Name) {
			w.clock.Step(after)
			if changes {
				w.addOn = w.addOn.DeepCopy()
				w.addOn.ResourceVersion += "1"
				w.store(t)
			}
		}
		want := quietFor
		if changes {
			want = quietWithin
		}
		if got := w.clock.Since(start); got != want {
			t.Errorf("an add-on that changes (%t): waited %s, want %s", changes, got, want)
		}
		w.clock.Step(quietWithin)
		w.addOn = w.addOn.DeepCopy()
		w.addOn.ResourceVersion += "1"
		w.store(t)
		if got := w.wait(w.request.Name); got != 0 {
			t.Errorf("an approval that failed waits %s again", got)
		}
	}
}

// A key that has to wait goes back into the queue.
func TestFrameworkWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	controller := factory.New().WithSync(func(context.Context, factory.SyncContext, string) error {
		cancel()
		return nil
	}).ToController("test")
	controller.SyncContext().Queue().Add("request")
	runFramework(ctx, []frameworkController{{Controller: controller, workers: 1, wait: func(string) time.Duration {
		if looks++; looks < 3 {
			return time.Millisecond
		}
		return 0
	}}}, nil)
	if looks != 3 {
		t.Errorf("reconciled after %d looks, want 3", looks)
	}
}

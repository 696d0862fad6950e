package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager/controllers/certificate"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// quietFor is how long a ManagedClusterAddOn has to be unchanged before its first
	// certificate is issued.
	quietFor = 500 * time.Millisecond

	// quietWithin bounds the wait of one request.
	quietWithin = 5 * time.Second

	// certificateRotated is the type of the condition that the registration agent writes
	// when it has taken a certificate.
	// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go
	certificateRotated = "ClusterCertificateRotated"
)

// quiet delays the approval of a cluster's first certificate signing request while other
// writes of the ManagedClusterAddOn are under way.
//
// OCM's registration agent writes a condition of the add-on when its certificate is
// issued. If that write is a conflict, it discards the certificate and requests another
// one (docs/upstream/ocm-registration-certificate.md). Conflicts are frequent only in the
// seconds in which the add-on is enabled.
type quiet struct {
	requests certificateslisters.CertificateSigningRequestLister
	addOns   addonlisters.ManagedClusterAddOnLister
	clock    clock.PassiveClock

	mu sync.Mutex
	// waiting are the requests that are not approved yet, by name.
	waiting map[string]observed
}

// observed is what was seen of the add-on of a waiting request.
type observed struct {
	// first is the time of the first look.
	first time.Time
	// version is the add-on's resourceVersion, and since the time at which it was first seen.
	version string
	since   time.Time
}

func newQuiet(requests certificateslisters.CertificateSigningRequestLister, addOns addonlisters.ManagedClusterAddOnLister, now clock.PassiveClock) *quiet {
	return &quiet{requests: requests, addOns: addOns, clock: now, waiting: map[string]observed{}}
}

// wait returns after how long to look at the request again, or zero when nothing delays
// it.
func (q *quiet) wait(name string) time.Duration {
	version, applied, first := q.look(name)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !first {
		delete(q.waiting, name)
		return 0
	}
	seen, left := q.waiting[name].next(version, applied, q.clock.Now())
	// It stays until the request is approved: the bound is for all attempts.
	q.waiting[name] = seen
	return left
}

// look returns the version of the request's add-on. It reports whether the work agent has
// reported on its manifests, and whether the request is for its first certificate.
func (q *quiet) look(name string) (version string, applied, first bool) {
	request, err := q.requests.Get(name)
	if err != nil || certificate.IsCSRInTerminalState(request) {
		return "", false, false
	}
	addOn, err := q.addOns.ManagedClusterAddOns(request.Labels[clusterv1.ClusterNameLabelKey]).Get(manifests.AddonName)
	if err != nil {
		return "", false, false
	}
	applied = meta.FindStatusCondition(addOn.Status.Conditions, addonv1beta1.ManagedClusterAddOnManifestApplied) != nil
	return addOn.ResourceVersion, applied, isFirst(addOn)
}

// isFirst reports whether the registration agent has never taken a certificate for this
// add-on.
func isFirst(addOn *addonv1beta1.ManagedClusterAddOn) bool {
	return meta.FindStatusCondition(addOn.Status.Conditions, certificateRotated) == nil
}

// next returns what is seen now, and how long the request has to wait. Until the manifests
// are applied, several writes are still to come. The bound counts from the first look, not
// from the request's creation, which is by another machine's clock.
func (o observed) next(version string, applied bool, now time.Time) (observed, time.Duration) {
	if o.first.IsZero() {
		o = observed{now, version, now}
	}
	if o.version != version || !applied {
		o.version, o.since = version, now
	}
	return o, max(0, min(o.since.Add(quietFor).Sub(now), o.first.Add(quietWithin).Sub(now)))
}

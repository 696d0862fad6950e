package identity

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// keepUsed is how long a request is kept after its certificate was issued. The
// registration agent watches its requests and reads the certificate at once. An
// agent that loses its connection in between makes another request.
const keepUsed = 30 * time.Second

// UsedRequests returns the cluster's certificate signing requests to remove, and
// after how long to look again; 0 means not before the next change. issuedFor is
// the time since the certificate of a request was first seen.
//
// OCM's registration agent stops requesting at ten requests of one add-on, used
// ones included, and Kubernetes keeps used ones for an hour.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go (addonCSRThreshold)
//
// An issued request is removed after keepUsed, or as soon as the registration agent
// has made a later one: it makes a request only when it is done with the previous
// one. A pending request is removed when a later one was issued. Denied requests,
// and those of other requesters, stay.
func UsedRequests(requests []*certificatesv1.CertificateSigningRequest, cluster string,
	issuedFor func(*certificatesv1.CertificateSigningRequest) time.Duration,
) (used []*certificatesv1.CertificateSigningRequest, again time.Duration) {
	var own []*certificatesv1.CertificateSigningRequest
	var last, lastIssued time.Time
	for _, request := range requests {
		if !OwnRequest(request, cluster) || hasCondition(request, certificatesv1.CertificateDenied) {
			continue
		}
		own = append(own, request)
		last = later(last, request.CreationTimestamp.Time)
		if issued(request) {
			lastIssued = later(lastIssued, request.CreationTimestamp.Time)
		}
	}
	for _, request := range own {
		created := request.CreationTimestamp.Time
		left := keepUsed - issuedFor(request)
		switch {
		case created.Before(lastIssued), issued(request) && (created.Before(last) || left <= 0):
			used = append(used, request)
		case issued(request) && (again == 0 || left < again):
			again = left
		}
	}
	return used, again
}

// OwnRequest reports whether the cluster's registration agent made the request for
// this add-on. Every user who may create requests can set the labels, but the API
// server sets the user name.
func OwnRequest(request *certificatesv1.CertificateSigningRequest, cluster string) bool {
	return request.Labels[addonv1beta1.AddonLabelKey] == manifests.AddonName &&
		request.Labels[clusterv1.ClusterNameLabelKey] == cluster &&
		request.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName &&
		checkRequester(request.Spec.Username, cluster) == nil
}

// issued reports whether the request was approved and has its certificate.
func issued(request *certificatesv1.CertificateSigningRequest) bool {
	return hasCondition(request, certificatesv1.CertificateApproved) && len(request.Status.Certificate) > 0
}

func hasCondition(request *certificatesv1.CertificateSigningRequest, conditionType certificatesv1.RequestConditionType) bool {
	for _, condition := range request.Status.Conditions {
		if condition.Type == conditionType {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

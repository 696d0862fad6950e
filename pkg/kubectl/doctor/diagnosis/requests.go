package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// maxRequests is how many requests of an add-on OCM's registration agent makes before it stops.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go (addonCSRThreshold)
const maxRequests = 10

// requests looks at the certificate signing requests of the add-on.
func requests(e *examination) {
	if e.AddOn == nil || e.deleting() || e.unread(Requests) {
		return
	}
	// OCM counts those of anyone.
	if len(e.Requests) >= maxRequests {
		e.add(TooManyRequests, fmt.Sprintf("the hub has %d certificate signing requests with the labels of the add-on on this cluster: OCM's registration agent creates no more than %d", len(e.Requests), maxRequests),
			step("Delete them: the registration agent then creates a new one", e.hub("delete", "csr", "-l",
				fmt.Sprintf("%s=%s,%s=%s", addonv1beta1.AddonLabelKey, manifests.AddonName, clusterv1.ClusterNameLabelKey, e.Cluster))))
	}
	var latest *certificatesv1.CertificateSigningRequest
	for _, r := range e.Requests {
		if identity.OwnRequest(r, e.Cluster) && (latest == nil || latest.CreationTimestamp.Before(&r.CreationTimestamp)) {
			latest = r
		}
	}
	if latest != nil {
		e.judgeRequest(latest)
	}
}

// judgeRequest looks at the latest request of the registration agent.
func (e *examination) judgeRequest(r *certificatesv1.CertificateSigningRequest) {
	has := func(kind certificatesv1.RequestConditionType) (certificatesv1.CertificateSigningRequestCondition, bool) {
		i := slices.IndexFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
		if i < 0 {
			return certificatesv1.CertificateSigningRequestCondition{}, false
		}
		return r.Status.Conditions[i], true
	}
	old := e.Now.Sub(r.CreationTimestamp.Time) > settles
	denial, denied := has(certificatesv1.CertificateDenied)
	failure, failed := has(certificatesv1.CertificateFailed)
	_, approved := has(certificatesv1.CertificateApproved)
	switch {
	case denied:
		e.add(RequestDenied, fmt.Sprintf("someone denied the certificate signing request %s: %s %s", r.Name, denial.Reason, denial.Message),
			step("Delete it: the registration agent then creates a new one", e.hub("delete", "csr", r.Name)))
	case failed:
		e.add(RequestFailed, fmt.Sprintf("the hub's signer rejected the certificate signing request %s: %s %s", r.Name, failure.Reason, failure.Message))
	case approved && len(r.Status.Certificate) == 0 && old:
		e.add(RequestNotSigned, fmt.Sprintf("the certificate signing request %s is approved, and no certificate was issued: the signer %s does not run on the hub (kube-controller-manager)",
			r.Name, r.Spec.SignerName), step("Look at the request", e.hub("describe", "csr", r.Name)))
	case !approved && e.ManagedCluster != nil:
		if err := identity.CheckCSR(r, e.ManagedCluster, e.AddOn); err != nil {
			e.add(RequestPending, fmt.Sprintf("the controller does not approve the certificate signing request %s: %v", r.Name, err))
		} else if old {
			e.add(RequestPending, fmt.Sprintf("the certificate signing request %s is as it should be, and the controller has not approved it within %s", r.Name, settles), e.controllerLog())
		}
	}
}

// renewed looks at what OCM's registration agent reports about the agent's credentials.
func renewed(e *examination) {
	if e.AddOn == nil || e.deleting() {
		return
	}
	// After a change of the registration driver both conditions are there: the later one counts.
	certificate, token := e.condition(report.CertificateRotated), e.condition(report.TokenRefreshed)
	latest := certificate
	if certificate.LastTransitionTime.Before(&token.LastTransitionTime) {
		latest = token
	}
	if latest.Status == metav1.ConditionFalse {
		e.add(CertificateNotRenewed, "OCM's registration agent gets no new credentials for the agent: "+strings.TrimSpace(latest.Message),
			admissionSteps(latest.Message, "", e.hub)...)
	}
	if latest.Status == "" && len(e.Requests) == 0 && !e.unread(Requests) && e.enabledFor() > settles && !e.broken(hubLink, clusterLink, enabledLink, shippedLink) {
		e.add(NoRequest, "OCM's registration agent has created no certificate signing request for the agent", e.lookThere()...)
	}
}

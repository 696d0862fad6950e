package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status/report"
)

// maxRequests is how many requests of an add-on OCM's registration agent makes before it stops.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go (addonCSRThreshold)
const maxRequests = 10

// requests looks at the certificate signing requests of the add-on.
func requests(e *examination) {
	if e.AddOn == nil || e.deleting() || e.unread(Requests) {
		return
	}
	slices.SortFunc(e.Requests, func(a, b *certificatesv1.CertificateSigningRequest) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	if len(e.Requests) >= maxRequests {
		e.add(TooManyRequests, fmt.Sprintf("the hub has %d certificate signing requests of the add-on: OCM's registration agent makes no more than %d, and stops", len(e.Requests), maxRequests),
			step("Delete them: the registration agent then makes a new one", fmt.Sprintf("%s delete csr -l %s", e.Kubectl, e.requestLabels())))
	}
	if len(e.Requests) > 0 {
		e.judgeRequest(e.Requests[len(e.Requests)-1])
	}
}

func (e *examination) requestLabels() string {
	return fmt.Sprintf("open-cluster-management.io/addon-name=%s,open-cluster-management.io/cluster-name=%s", manifests.AddonName, e.Cluster)
}

// judgeRequest looks at the latest request.
func (e *examination) judgeRequest(r *certificatesv1.CertificateSigningRequest) {
	age := e.Now.Sub(r.CreationTimestamp.Time)
	var approved bool
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateDenied:
			e.add(RequestDenied, fmt.Sprintf("someone denied the certificate signing request %s: %s %s", r.Name, c.Reason, c.Message),
				step("Delete it: the registration agent then makes a new one", fmt.Sprintf("%s delete csr %s", e.Kubectl, r.Name)))
			return
		case certificatesv1.CertificateFailed:
			e.add(RequestFailed, fmt.Sprintf("the hub's signer rejected the certificate signing request %s: %s %s", r.Name, c.Reason, c.Message))
			return
		case certificatesv1.CertificateApproved:
			approved = true
		}
	}
	switch {
	case approved && len(r.Status.Certificate) == 0 && age > settles:
		e.add(RequestNotSigned, fmt.Sprintf("the certificate signing request %s is approved, and no certificate was issued: the signer %s does not run on the hub (kube-controller-manager)",
			r.Name, r.Spec.SignerName), step("Look at the request", fmt.Sprintf("%s describe csr %s", e.Kubectl, r.Name)))
	case !approved && e.ManagedCluster != nil:
		if err := identity.CheckCSR(r, e.ManagedCluster, e.AddOn); err != nil {
			e.add(RequestPending, fmt.Sprintf("the controller does not approve the certificate signing request %s: %v", r.Name, err))
		} else if age > settles {
			e.add(RequestPending, fmt.Sprintf("the certificate signing request %s is as it should be, and the controller has not approved it within %s", r.Name, settles), e.controllerLog())
		}
	}
}

// renewed looks at what OCM's registration agent reports about the agent's credentials.
func renewed(e *examination) {
	if e.AddOn == nil || e.deleting() {
		return
	}
	c := e.condition(report.CertificateRotated)
	if c.Status == metav1.ConditionFalse {
		e.add(CertificateNotRenewed, "OCM's registration agent cannot renew the agent's certificate: "+strings.TrimSpace(c.Message))
	}
	never := c.Status == "" && e.condition(report.TokenRefreshed).Status == ""
	if never && len(e.Requests) == 0 && !e.unread(Requests) && e.enabledFor() > settles && !e.broken(hubLink, clusterLink, enabledLink, shippedLink) {
		e.add(NoRequest, "OCM's registration agent has requested no certificate for the agent: the hub has no request, and none was reported", e.lookThere()...)
	}
}

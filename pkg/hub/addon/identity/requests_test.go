package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

type csr = certificatesv1.CertificateSigningRequest

// request is one of cluster1's registration agent, with the times in seconds at which
// it was made and its certificate was first seen.
type request struct {
	name        string
	made, since int
	is          func(*csr)
}

func pendingRequest(*csr) {}

func issuedRequest(r *csr) {
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
	r.Status.Certificate = []byte("certificate")
}

func approvedRequest(r *csr) {
	issuedRequest(r)
	r.Status.Certificate = nil
}

func deniedRequest(r *csr) {
	r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied}}
}

func issuedTo(change func(*csr)) func(*csr) {
	return func(r *csr) {
		issuedRequest(r)
		change(r)
	}
}

// TestUsedRequests covers docs/design.md#csr.
func TestUsedRequests(t *testing.T) {
	const now = 1000
	tests := []struct {
		name     string
		reason   string
		requests []request
		want     []string
		again    time.Duration
	}{
		{name: "none", reason: "nothing to do, and nothing to wait for"},
		{name: "issued long ago", requests: []request{{"a", 900, 970, issuedRequest}}, want: []string{"a"},
			reason: "the registration agent has read it"},
		{name: "just issued", requests: []request{{"a", 900, 990, issuedRequest}}, again: 20 * time.Second,
			reason: "the registration agent may not have read it yet"},
		{name: "two just issued", requests: []request{{"a", 990, 980, issuedRequest}, {"b", 990, 990, issuedRequest}}, again: 10 * time.Second,
			reason: "made within one second, which is all that is known: none is the later one"},
		{name: "an issued one before another", requests: []request{{"a", 990, 995, issuedRequest}, {"b", 996, 0, pendingRequest}},
			want: []string{"a"}, reason: "the registration agent makes a request when it is done with the one before"},
		{name: "pending", requests: []request{{"a", 0, 0, pendingRequest}}, reason: "it may still be approved"},
		{name: "approved, not signed", requests: []request{{"a", 0, 0, approvedRequest}}, reason: "it may still be signed"},
		{name: "two pending", requests: []request{{"a", 0, 0, pendingRequest}, {"b", 990, 0, pendingRequest}},
			reason: "either may still be approved"},
		{name: "pending before an issued one", requests: []request{{"a", 900, 0, pendingRequest}, {"b", 990, 999, issuedRequest}},
			want: []string{"a"}, again: 29 * time.Second, reason: "no agent waits for it, for example after a switch from tokens"},
		{name: "denied", requests: []request{{"a", 900, 0, deniedRequest}, {"b", 990, 999, issuedRequest}}, again: 29 * time.Second,
			reason: "a person decided so"},
		{name: "made by another user", requests: []request{{"a", 0, 0, issuedTo(func(r *csr) { r.Spec.Username = "somebody" })}},
			reason: "anyone can set the labels"},
		{name: "made by another cluster", reason: "anyone can set the labels",
			requests: []request{{"a", 0, 0, issuedTo(func(r *csr) { r.Spec.Username = "system:open-cluster-management:cluster10:x" })}}},
		{name: "of another add-on", reason: "it is that add-on's",
			requests: []request{{"a", 0, 0, issuedTo(func(r *csr) { r.Labels[addonv1beta1.AddonLabelKey] = "other" })}}},
		{name: "of the cluster itself", reason: "it is OCM's",
			requests: []request{{"a", 0, 0, issuedTo(func(r *csr) { delete(r.Labels, addonv1beta1.AddonLabelKey) })}}},
		{name: "for another signer", reason: "the add-on asks for none",
			requests: []request{{"a", 0, 0, issuedTo(func(r *csr) { r.Spec.SignerName = "example.com/signer" })}}},
		{name: "another user's is later", reason: "another user's request supersedes none", again: 25 * time.Second,
			requests: []request{{"a", 990, 995, issuedRequest}, {"b", 996, 999, issuedTo(func(r *csr) { r.Spec.Username = "somebody" })}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var requests []*csr
			since := map[string]int{}
			for _, r := range test.requests {
				object := &csr{
					ObjectMeta: metav1.ObjectMeta{Name: r.name, CreationTimestamp: metav1.Unix(int64(r.made), 0), Labels: map[string]string{
						addonv1beta1.AddonLabelKey: manifests.AddonName, clusterv1.ClusterNameLabelKey: "cluster1"}},
					Spec: certificatesv1.CertificateSigningRequestSpec{
						SignerName: certificatesv1.KubeAPIServerClientSignerName, Username: "system:open-cluster-management:cluster1:x"},
				}
				r.is(object)
				since[r.name] = r.since
				requests = append(requests, object)
			}
			used, again := UsedRequests(requests, "cluster1", func(r *csr) time.Duration {
				return time.Duration(now-since[r.Name]) * time.Second
			})
			var names []string
			for _, r := range used {
				names = append(names, r.Name)
			}
			if diff := cmp.Diff(test.want, names); diff != "" || again != test.again {
				t.Errorf("%s: asks again after %s, want %s; used requests differ (-want +got):\n%s", test.reason, again, test.again, diff)
			}
		})
	}
}

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// TestRequestCleaner: a certificate counts from when it was first seen, so that a
// signer that takes long leaves the registration agent its time.
func TestRequestCleaner(t *testing.T) {
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: requestName, UID: "1", CreationTimestamp: metav1.Unix(0, 0), Labels: map[string]string{
			addonv1beta1.AddonLabelKey: manifests.AddonName, clusterv1.ClusterNameLabelKey: "cluster1"}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientSignerName, Username: "system:open-cluster-management:cluster1:x"},
		Status: certificatesv1.CertificateSigningRequestStatus{
			Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}},
	}
	client := kubefake.NewClientset(request.DeepCopy())
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{requestsByCluster: requestCluster})
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	cleaner := &requestCleaner{client: client.CertificatesV1().CertificateSigningRequests(), requests: indexer, clock: clock,
		issuedAt: map[string]map[types.UID]time.Time{}}
	syncCtx := factory.NewSyncContext("test")

	for _, step := range []struct {
		name   string
		change func()
		want   []string
	}{
		{name: "approved", change: func() {}},
		{name: "the signer takes long", change: func() { clock.Step(time.Hour) }},
		{name: "issued", change: func() { request.Status.Certificate = []byte("certificate") }},
		{name: "just before its time", change: func() { clock.Step(29 * time.Second) }},
		{name: "used", change: func() { clock.Step(2 * time.Second) }, want: []string{requestName}},
	} {
		step.change()
		if err := indexer.Add(request.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		client.ClearActions()
		if err := cleaner.sync(t.Context(), syncCtx, "cluster1"); err != nil {
			t.Fatal(err)
		}
		var deleted []string
		for _, action := range client.Actions() {
			deleted = append(deleted, action.(interface{ GetName() string }).GetName())
		}
		if diff := cmp.Diff(step.want, deleted); diff != "" {
			t.Errorf("%s: deleted requests differ (-want +got):\n%s", step.name, diff)
		}
	}
	if err := indexer.Delete(request); err != nil {
		t.Fatal(err)
	}
	if err := cleaner.sync(t.Context(), syncCtx, "cluster1"); err != nil || len(cleaner.issuedAt) > 0 {
		t.Errorf("it does not forget what is gone: %v (%v)", cleaner.issuedAt, err)
	}
}

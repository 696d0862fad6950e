package controller

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/addon-framework/pkg/addonmanager"
	"open-cluster-management.io/addon-framework/pkg/agent"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// approver approves every request.
type approver struct{}

func (approver) Manifests(context.Context, *clusterv1.ManagedCluster, *addonv1beta1.ManagedClusterAddOn) ([]runtime.Object, error) {
	return nil, nil
}

func (approver) GetAgentAddonOptions() agent.AgentAddonOptions {
	return agent.AgentAddonOptions{AddonName: manifests.AddonName, Registration: &agent.RegistrationOption{
		CSRApproveCheck: func(context.Context, *clusterv1.ManagedCluster, *addonv1beta1.ManagedClusterAddOn,
			*certificatesv1.CertificateSigningRequest) bool {
			return true
		},
	}}
}

// When the API server refuses an approval once, the framework's own controller
// tries again; without the copies it takes the request in its cache for
// approved. Should a version of the framework no longer do that, the second
// case fails, and the copies can go.
func TestApprovalIsTriedAgain(t *testing.T) {
	type test struct {
		name   string
		copied bool
	}
	tests := []test{{"with copies", true}}
	if !raceDetector {
		// Without copies the framework's approving controller changes the request
		// that its signing controller reads: a race of its own.
		tests = append(tests, test{"as the framework does it", false})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var approvals atomic.Int32
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method != http.MethodPut || approvals.Add(1) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_ = json.NewEncoder(w).Encode(&certificatesv1.CertificateSigningRequest{})
			}))
			t.Cleanup(api.Close)
			i := runWithRequest(t, api.URL, test.copied)
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				if test.copied {
					return approvals.Load() >= 2, nil
				}
				return approvals.Load() == 1 && cachedAsApproved(i), nil
			})
			if err != nil {
				t.Fatalf("%d approvals were sent: %v", approvals.Load(), err)
			}
			if test.copied && cachedAsApproved(i) {
				t.Error("the cache has an approval that the API server has not")
			}
		})
	}
}

const requestName = "addon-cluster1-helloworld-1"

// runWithRequest runs the framework's controllers on a hub with one request,
// and sends its approvals to the API server at url.
func runWithRequest(t *testing.T, url string, copies bool) *informers {
	t.Helper()
	c := emptyHub(func(*addonfake.Clientset) {})
	labels := map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName, clusterv1.ClusterNameLabelKey: "cluster1"}
	for _, err := range []error{
		c.cluster.(clienttesting.FakeClient).Tracker().Add(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}),
		c.addon.(clienttesting.FakeClient).Tracker().Add(&addonv1beta1.ManagedClusterAddOn{
			ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: manifests.AddonName}}),
		c.kube.(clienttesting.FakeClient).Tracker().Add(&certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: requestName, Labels: labels}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	manager := addonmanager.NewBaseAddonManagerImpl(&rest.Config{Host: url})
	if err := manager.AddAgent(approver{}); err != nil {
		t.Fatal(err)
	}
	i := newInformers(c, withLastKnown)
	if !copies {
		i.kube = kubeinformers.NewSharedInformerFactory(c.kube, resyncPeriod)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(i.shutdown)
	t.Cleanup(cancel)
	if err := manager.StartWithInformers(ctx, c.work, i.work.Work().V1().ManifestWorks(), i.kube, i.addon, i.cluster, i.dynamic); err != nil {
		t.Fatal(err)
	}
	i.start(ctx)
	if err := i.awaitSync(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	return i
}

func cachedAsApproved(i *informers) bool {
	request, err := i.kube.Certificates().V1().CertificateSigningRequests().Lister().Get(requestName)
	return err == nil && len(request.Status.Conditions) > 0
}

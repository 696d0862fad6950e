package controller

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// OCM's registration agent writes its driver into status.registrations, and with
// tokens its subject as well. The framework's own controller then has to leave
// the one and to restore the other: with two writers that disagree the add-on
// would never be registered.
func TestSubjectByDriver(t *testing.T) {
	certificate := addonv1beta1.KubeClientSubject{
		BaseSubject: addonv1beta1.BaseSubject{User: identity.User("cluster1"), Groups: identity.Groups("cluster1")}}
	token := addonv1beta1.KubeClientSubject{
		BaseSubject: addonv1beta1.BaseSubject{User: identity.ServiceAccountUser("cluster1")}}
	tests := []struct {
		name, reason string
		driver       string
		before, want addonv1beta1.KubeClientSubject
	}{
		{name: "the first time", want: certificate, reason: "the registration agent has not said its driver yet"},
		{name: "certificates", driver: "csr", before: certificate, want: certificate, reason: "nothing changes"},
		{name: "tokens", driver: "token", before: token, want: token, reason: "the registration agent writes the subject"},
		{name: "switched to tokens", driver: "token", before: certificate, want: certificate,
			reason: "it stays until the registration agent changes it"},
		{name: "switched to certificates", driver: "csr", before: token, want: certificate,
			reason: "the registration agent would ask for a certificate of the ServiceAccount"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var registrations []addonv1beta1.RegistrationConfig
			if test.driver != "" {
				registrations = []addonv1beta1.RegistrationConfig{{Type: addonv1beta1.KubeClient,
					KubeClient: &addonv1beta1.KubeClientConfig{Driver: test.driver, Subject: test.before}}}
			}
			got := registeredBy(t, registrations)
			want := []addonv1beta1.RegistrationConfig{{Type: addonv1beta1.KubeClient,
				KubeClient: &addonv1beta1.KubeClientConfig{Driver: test.driver, Subject: test.want}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// registeredBy runs the framework on an add-on with these registrations and
// returns those that its status has when the framework has set the condition
// RegistrationApplied.
func registeredBy(t *testing.T, registrations []addonv1beta1.RegistrationConfig) []addonv1beta1.RegistrationConfig {
	t.Helper()
	patches := make(chan []byte, 100)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/cluster1/managedclusteraddons/helloworld/status") {
			patches <- body
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&addonv1beta1.ManagedClusterAddOn{})
	}))
	t.Cleanup(api.Close)
	managed := &addonv1beta1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: manifests.AddonName, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: addonv1beta1.GroupVersion.String(), Kind: "ClusterManagementAddOn", Name: manifests.AddonName}}},
		Status: addonv1beta1.ManagedClusterAddOnStatus{
			Conditions:    hubobjects.AddOn("cluster1", "").Status.Conditions,
			Registrations: registrations,
			SupportedConfigs: []addonv1beta1.ConfigGroupResource{{
				Group: utils.AddOnDeploymentConfigGVR.Group, Resource: utils.AddOnDeploymentConfigGVR.Resource}},
		},
	}
	c := emptyHub(func(*addonfake.Clientset) {})
	for _, err := range []error{
		c.cluster.(clienttesting.FakeClient).Tracker().Add(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}),
		c.addon.(clienttesting.FakeClient).Tracker().Add(managed),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	patching, err := addonclient.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	i := newInformers(c, withLastKnown)
	c.addon = patching
	runControllers(t, c, c.work, i)
	for {
		select {
		case body := <-patches:
			var patch addonv1beta1.ManagedClusterAddOn
			if err := json.Unmarshal(body, &patch); err != nil {
				t.Fatal(err)
			}
			switch {
			case !meta.IsStatusConditionTrue(patch.Status.Conditions, addonv1beta1.ManagedClusterAddOnRegistrationApplied): // of another controller
			case patch.Status.Registrations == nil:
				return managed.Status.Registrations
			default:
				return patch.Status.Registrations
			}
		case <-time.After(time.Minute):
			t.Fatal("the framework has not patched the add-on's status within a minute")
		}
	}
}

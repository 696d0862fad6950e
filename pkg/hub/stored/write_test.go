package stored

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
)

// applied returns the add-on after the patch.
func applied[T any](t *testing.T, addOn *T, patch []byte) *T {
	t.Helper()
	before, err := json.Marshal(addOn)
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		t.Fatal(err)
	}
	var patched T
	if err := json.Unmarshal(after, &patched); err != nil {
		t.Fatal(err)
	}
	return &patched
}

// TestTranslate: the translated patch of what is stored gives what the patch gives in v1beta1.
func TestTranslate(t *testing.T) {
	registered := stored("cluster1", "7")
	registered.Status.KubeClientDriver = "csr"
	registered.Status.Registrations = []addonv1alpha1.RegistrationConfig{{SignerName: "kubernetes.io/kube-apiserver-client", Subject: addonv1alpha1.Subject{User: "old"}}}
	tests := []struct {
		name, reason, patch string
		asItIs              bool
	}{
		{name: "conditions", patch: `{"metadata":{"uid":"uid","resourceVersion":"7"},"status":{"conditions":[{"type":"Degraded","status":"False","reason":"AsExpected","message":"","lastTransitionTime":null}]}}`},
		{name: "what is the same", patch: `{"status":{"namespace":"there","healthCheck":{"mode":"Lease"},"supportedConfigs":[{"group":"g","resource":"r"}],"relatedObjects":null,"addOnMeta":{"displayName":"d"}}}`},
		{name: "finalizers", patch: `{"metadata":{"finalizers":["a","b"],"labels":{"c":"d"}}}`},
		{name: "a registration by certificate", patch: `{"status":{"registrations":[{"type":"kubeClient","kubeClient":{"driver":"csr","subject":{"user":"u","groups":["g"]}}}]}}`,
			reason: "the driver is elsewhere in the stored version"},
		{name: "by token", patch: `{"status":{"registrations":[{"type":"kubeClient","kubeClient":{"driver":"token","subject":{"user":"u"}}}]}}`},
		{name: "with no driver yet", patch: `{"status":{"registrations":[{"type":"kubeClient","kubeClient":{"subject":{"user":"u"}}}]}}`},
		{name: "of another signer", patch: `{"status":{"registrations":[{"type":"customSigner","customSigner":{"signerName":"example.com/s","subject":{"user":"u","organizationUnits":["o"]}}}]}}`},
		{name: "no registration", patch: `{"status":{"registrations":null}}`},
		{name: "nothing", patch: `{}`},
		{name: "configs", patch: `{"status":{"configReferences":[{"group":"g","resource":"r","lastObservedGeneration":2,"desiredConfig":{"namespace":"n","name":"c","specHash":"h"},"lastAppliedConfig":{"namespace":"n","name":"b","specHash":"i"}}]}}`},
		{name: "no config", patch: `{"status":{"configReferences":null}}`},
		{name: "a config that nothing names", patch: `{"status":{"configReferences":[{"group":"g","resource":"r","lastObservedGeneration":2}]}}`, asItIs: true,
			reason: "the stored version requires the name"},
		{name: "the whole status", patch: `{"status":null}`, asItIs: true, reason: "the driver would go with it"},
		{name: "an unknown field", patch: `{"status":{"new":1}}`, asItIs: true},
		{name: "the spec", patch: `{"spec":{"configs":[]}}`, asItIs: true},
		{name: "annotations", patch: `{"metadata":{"annotations":{"addon.open-cluster-management.io/v1alpha1-install-namespace":"there"}}}`, asItIs: true,
			reason: "one of them is a field of the stored version"},
		{name: "another format", patch: `[{"op":"remove","path":"/status"}]`, asItIs: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			translated, ok := translate(types.MergePatchType, []byte(test.patch))
			if ok == test.asItIs {
				t.Fatalf("translated: %t (%s)", ok, test.reason)
			}
			if test.asItIs {
				return
			}
			var before, want, got addonv1beta1.ManagedClusterAddOn
			if err := Convert(registered.DeepCopy(), &before); err != nil {
				t.Fatal(err)
			}
			want = *applied(t, &before, []byte(test.patch))
			if err := Convert(applied(t, registered, translated), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-in v1beta1 +in v1alpha1):\n%s", test.reason, diff)
			}
		})
	}
	for patch, want := range map[string]bool{
		`[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"add","path":"/metadata/finalizers","value":["a"]}]`:  true,
		`[{"op":"test","path":"/status/conditions/0","value":{}},{"op":"add","path":"/status/conditions/-","value":{}}]`: true,
		`[{"op":"remove","path":"/status"}]`:                                           false,
		`[{"op":"move","from":"/metadata/annotations","path":"/metadata/finalizers"}]`: false,
		`{}`: false,
	} {
		if _, ok := translate(types.JSONPatchType, []byte(patch)); ok != want {
			t.Errorf("JSON patch %s: translated: %t, want %t", patch, ok, want)
		}
	}
}

// TestClient: writes in v1beta1 are sent in v1alpha1, and what returns is in v1beta1.
func TestClient(t *testing.T) {
	tests := []struct {
		name  string
		write func(client *addonfake.Clientset) (*addonv1beta1.ManagedClusterAddOn, error)
		want  *addonv1alpha1.ManagedClusterAddOn
	}{
		{name: "an update", want: func() *addonv1alpha1.ManagedClusterAddOn {
			addOn := stored("cluster1", "7")
			addOn.Finalizers, addOn.Status = nil, addonv1alpha1.ManagedClusterAddOnStatus{}
			return addOn
		}(), write: func(client *addonfake.Clientset) (*addonv1beta1.ManagedClusterAddOn, error) {
			addOn := converted("cluster1", "7")
			addOn.Finalizers = nil
			return Client(client).AddonV1beta1().ManagedClusterAddOns("cluster1").Update(t.Context(), addOn, metav1.UpdateOptions{})
		}},
		{name: "a patch", want: func() *addonv1alpha1.ManagedClusterAddOn {
			addOn := stored("cluster1", "7")
			addOn.Status.Namespace = "there"
			return addOn
		}(), write: func(client *addonfake.Clientset) (*addonv1beta1.ManagedClusterAddOn, error) {
			return Client(client).AddonV1beta1().ManagedClusterAddOns("cluster1").Patch(t.Context(), "helloworld", types.MergePatchType,
				[]byte(`{"status":{"namespace":"there"}}`), metav1.PatchOptions{}, "status")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := addonfake.NewSimpleClientset(stored("cluster1", "7"))
			got, err := test.write(client)
			if err != nil {
				t.Fatal(err)
			}
			addOn, err := client.Tracker().Get(schema.GroupVersion(addonv1alpha1.GroupVersion).WithResource("managedclusteraddons"), "cluster1", "helloworld")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, addOn, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("on the hub (-want +got):\n%s", diff)
			}
			var want addonv1beta1.ManagedClusterAddOn
			if err := Convert(test.want.DeepCopy(), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("returned (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a patch of another shape", func(t *testing.T) {
		client := addonfake.NewSimpleClientset()
		_, _ = Client(client).AddonV1beta1().ManagedClusterAddOns("cluster1").Patch(t.Context(), "helloworld", types.MergePatchType,
			[]byte(`{"spec":{}}`), metav1.PatchOptions{})
		if actions := client.Actions(); len(actions) != 1 || actions[0].GetResource().Version != "v1beta1" {
			t.Errorf("sent %v", actions)
		}
	})
	t.Run("an add-on that is gone", func(t *testing.T) {
		_, err := Client(addonfake.NewSimpleClientset()).AddonV1beta1().ManagedClusterAddOns("cluster1").Update(t.Context(), converted("cluster1", "7"), metav1.UpdateOptions{})
		if err == nil {
			t.Error("no error")
		}
	})
}

// TestNoLongerServed: OCM was upgraded to a version without v1alpha1 while the controller runs.
func TestNoLongerServed(t *testing.T) {
	client := addonfake.NewSimpleClientset(converted("cluster1", "7"))
	client.PrependReactor("*", "managedclusteraddons", func(action clienttesting.Action) (bool, runtime.Object, error) {
		resource := action.GetResource()
		return resource.Version == "v1alpha1", nil, apierrors.NewNotFound(resource.GroupResource(), "")
	})
	client.PrependWatchReactor("managedclusteraddons", func(action clienttesting.Action) (bool, watch.Interface, error) {
		resource := action.GetResource()
		return resource.Version == "v1alpha1", nil, apierrors.NewNotFound(resource.GroupResource(), "")
	})
	lister := AddOns(client, func(*metav1.ListOptions) {})
	list, err := cache.ToListerWithContext(lister).ListWithContext(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.(*addonv1beta1.ManagedClusterAddOnList).Items) != 1 {
		t.Errorf("listed %v, %v", list, err)
	}
	events, err := cache.ToWatcherWithContext(lister).WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	addOns := Client(client).AddonV1beta1().ManagedClusterAddOns("cluster1")
	patched, err := addOns.Patch(t.Context(), "helloworld", types.MergePatchType, []byte(`{"status":{"namespace":"there"}}`), metav1.PatchOptions{}, "status")
	if err != nil || patched.Status.Namespace != "there" {
		t.Errorf("patched %v, %v", patched, err)
	}
	updated, err := addOns.Update(t.Context(), converted("cluster1", "7"), metav1.UpdateOptions{})
	if err != nil || updated.Status.Namespace == "there" {
		t.Errorf("updated %v, %v", updated, err)
	}
	if event := <-events.ResultChan(); event.Type != watch.Modified {
		t.Errorf("the watch has %v", event)
	}
}

// TestRefused: what v1alpha1 refuses as invalid is sent in v1beta1, and no other error is.
func TestRefused(t *testing.T) {
	kind := schema.GroupKind{Group: addonv1alpha1.GroupName, Kind: "ManagedClusterAddOn"}
	for want, refusal := range map[int]error{2: apierrors.NewInvalid(kind, "helloworld", nil), 1: apierrors.NewConflict(schema.GroupResource{}, "helloworld", nil)} {
		client := addonfake.NewSimpleClientset(converted("cluster1", "7"))
		client.PrependReactor("*", "managedclusteraddons", func(action clienttesting.Action) (bool, runtime.Object, error) {
			return action.GetResource().Version == "v1alpha1", nil, refusal
		})
		addOns := Client(client).AddonV1beta1().ManagedClusterAddOns("cluster1")
		for _, write := range []func() error{
			func() error {
				_, err := addOns.Update(t.Context(), converted("cluster1", "7"), metav1.UpdateOptions{})
				return err
			},
			func() error {
				_, err := addOns.Patch(t.Context(), "helloworld", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
				return err
			},
		} {
			client.ClearActions()
			if err := write(); (err == nil) != (want == 2) || len(client.Actions()) != want {
				t.Errorf("%v: got %v after %d requests, want %d", refusal, err, len(client.Actions()), want)
			}
		}
		client.ClearActions()
		patch := []byte(`[{"op":"test","path":"/metadata/uid","value":"former"}]`)
		if _, err := addOns.Patch(t.Context(), "helloworld", types.JSONPatchType, patch, metav1.PatchOptions{}); err == nil || len(client.Actions()) != 1 {
			t.Errorf("%v: a JSON patch: got %v after %d requests, want one", refusal, err, len(client.Actions()))
		}
	}
}

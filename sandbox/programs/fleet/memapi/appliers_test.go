package memapi

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	work "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/helper"
	"open-cluster-management.io/ocm/pkg/work/spoke/apply"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/events"
	"sigs.k8s.io/yaml"
)

// manifests are what an add-on ships.
var manifests = []struct {
	resource schema.GroupVersionResource
	text     string
}{
	{namespaces, `{apiVersion: v1, kind: Namespace, metadata: {name: addon}}`},
	{accounts, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: agent, namespace: addon}}`},
	{configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: addon}, data: {a: "1"}}`},
	{secrets, `{apiVersion: v1, kind: Secret, metadata: {name: secret, namespace: addon}, data: {a: MQ==}}`},
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: agent}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: agent, namespace: addon},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: agent}, subjects: [{kind: ServiceAccount, name: agent, namespace: addon}]}`},
	{crds, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, spec: {group: example.com, scope: Namespaced,
		names: {plural: gadgets, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`},
	{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"},
		`{apiVersion: example.com/v1, kind: Gadget, metadata: {name: gadget, namespace: addon}, spec: {size: 1}}`},
	{deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: agent, namespace: addon}, spec: {replicas: 1, selector: {matchLabels: {app: agent}},
		template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: "image:1"}]}}}}`},
	{jobs, `{apiVersion: batch/v1, kind: Job, metadata: {name: hook, namespace: addon},
		spec: {template: {spec: {restartPolicy: Never, containers: [{name: hook, image: "image:1"}]}}}}`},
}

// TestAppliersOfOCM applies and deletes manifests with the code of OCM's work agent. An
// object that is applied again must not change, or the agent would apply for ever.
func TestAppliersOfOCM(t *testing.T) {
	for _, strategy := range []workv1.UpdateStrategyType{
		workv1.UpdateStrategyTypeUpdate, workv1.UpdateStrategyTypeCreateOnly, workv1.UpdateStrategyTypeServerSideApply,
	} {
		t.Run(string(strategy), func(t *testing.T) {
			clusters(t, Options{}, func(t *testing.T, c *cluster) {
				applyAndDelete(t, c, strategy)
			})
		})
	}
}

func applyAndDelete(t *testing.T, c *cluster, strategy workv1.UpdateStrategyType) {
	t.Helper()
	extensions, err := apiextensions.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	works, err := work.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := works.WorkV1().AppliedManifestWorks().Create(t.Context(),
		&workv1.AppliedManifestWork{ObjectMeta: metav1.ObjectMeta{Name: "work"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := helper.NewAppliedManifestWorkOwner(applied)
	applier := apply.NewAppliers(c.dynamic, c.kube, extensions).GetApplier(strategy)
	option := &workv1.ManifestConfigOption{UpdateStrategy: &workv1.UpdateStrategy{Type: strategy, ServerSideApply: &workv1.ServerSideApplyConfig{}}}
	versions := map[string]string{}
	var resources []workv1.AppliedManifestResourceMeta
	for round := range 3 {
		resources = nil
		for _, m := range manifests {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(m.text), &obj.Object); err != nil {
				t.Fatal(err)
			}
			if _, err := applier.Apply(t.Context(), m.resource, obj, *owner, option, events.NewContextualLoggingEventRecorder("test")); err != nil {
				t.Fatalf("apply %s: %v", m.resource.Resource, err)
			}
			settle(t, c, m.resource)
			got, err := c.dynamic.Resource(m.resource).Namespace(obj.GetNamespace()).Get(t.Context(), obj.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// An object that is applied with only a name has managed fields from the second time.
			if round == 1 && strategy == workv1.UpdateStrategyTypeServerSideApply {
				delete(versions, m.resource.Resource)
			}
			if before := versions[m.resource.Resource]; before != "" && before != got.GetResourceVersion() {
				t.Errorf("%s: version %s after %s, want no change by the same manifest", m.resource.Resource, got.GetResourceVersion(), before)
			}
			versions[m.resource.Resource] = got.GetResourceVersion()
			resources = append(resources, workv1.AppliedManifestResourceMeta{Version: m.resource.Version, UID: string(got.GetUID()), ResourceIdentifier: workv1.ResourceIdentifier{
				Group: m.resource.Group, Resource: m.resource.Resource, Name: got.GetName(), Namespace: got.GetNamespace()}})
		}
	}
	for range 2 {
		pending, errs := helper.DeleteAppliedResources(t.Context(), resources, "test", c.dynamic, *owner)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		resources = pending
	}
	if len(resources) > 0 {
		t.Errorf("not deleted: %v", resources)
	}
}

// settle waits for what the simulator writes in the status of a workload.
func settle(t *testing.T, c *cluster, resource schema.GroupVersionResource) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		switch resource {
		case deployments:
			d, err := c.kube.AppsV1().Deployments("addon").Get(ctx, "agent", metav1.GetOptions{})
			if err == nil && available(d) != corev1.ConditionTrue {
				err = fmt.Errorf("deployment: %s", summary(d))
			}
			return err
		case jobs:
			j, err := c.kube.BatchV1().Jobs("addon").Get(ctx, "hook", metav1.GetOptions{})
			if err == nil && !finished(j) {
				err = fmt.Errorf("job: %s", jobText(j))
			}
			return err
		}
		return nil
	})
}

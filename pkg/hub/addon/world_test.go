package addon

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/addon-framework/pkg/index"
	"open-cluster-management.io/addon-framework/pkg/utils"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// newCache is a Cache with these objects.
func newCache(t *testing.T, objects ...runtime.Object) *Cache {
	t.Helper()
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		})
	}
	works := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex:            cache.MetaNamespaceIndexFunc,
		index.ManifestWorkByAddon:       index.IndexManifestWorkByAddon,
		index.ManifestWorkByHostedAddon: index.IndexManifestWorkByHostedAddon,
	})
	management, configs := indexer(), indexer()
	for _, object := range objects {
		var err error
		switch object := object.(type) {
		case *addonv1beta1.ClusterManagementAddOn:
			err = management.Add(object)
		case *addonv1beta1.AddOnDeploymentConfig:
			err = configs.Add(toUnstructured(t, object))
		case *workv1.ManifestWork:
			err = works.Add(object)
		default:
			t.Fatalf("no place for a %T", object)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &Cache{
		ManagementAddOns: addonlisters.NewClusterManagementAddOnLister(management),
		Works:            works, RoleBindings: bindings(),
		Configs: cache.NewGenericLister(configs, schema.GroupResource{Group: addonv1beta1.GroupName, Resource: "addondeploymentconfigs"}),
	}
}

// bindings is the cache of RoleBindings, with those.
func bindings(cached ...*rbacv1.RoleBinding) rbaclisters.RoleBindingLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, binding := range cached {
		_ = indexer.Add(binding)
	}
	return rbaclisters.NewRoleBindingLister(indexer)
}

// newTestAddon is the add-on on a hub with these objects.
func newTestAddon(t *testing.T, image string, objects ...runtime.Object) *AgentAddon {
	t.Helper()
	return New(image, fake.NewClientset(), newCache(t, objects...))
}

func toUnstructured(t *testing.T, object runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func hashOf(t *testing.T, config *addonv1beta1.AddOnDeploymentConfig) string {
	t.Helper()
	hash, err := utils.GetSpecHash(toUnstructured(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// naming is the ClusterManagementAddOn with newConfig's config as default.
func naming() *addonv1beta1.ClusterManagementAddOn {
	return &addonv1beta1.ClusterManagementAddOn{
		ObjectMeta: metav1.ObjectMeta{Name: manifests.AddonName},
		Spec: addonv1beta1.ClusterManagementAddOnSpec{DefaultConfigs: []addonv1beta1.AddOnConfig{{
			ConfigGroupResource: deploymentConfigs,
			ConfigReferent:      addonv1beta1.ConfigReferent{Namespace: "configs", Name: "config"},
		}}},
	}
}

// ship is the ManifestWork in a cluster's namespace by which addon-framework ships
// the objects for the add-on.
func ship(t *testing.T, addon *addonv1beta1.ManagedClusterAddOn, namespace string, objects []runtime.Object) *workv1.ManifestWork {
	t.Helper()
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "addon-helloworld-deploy-0", Namespace: namespace,
		Labels: map[string]string{addonv1beta1.AddonLabelKey: manifests.AddonName},
	}}
	if namespace == addon.Namespace {
		work.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(addon,
			schema.GroupVersionKind{Group: addonv1beta1.GroupName, Version: "v1beta1", Kind: "ManagedClusterAddOn"})}
	} else {
		work.Name = "addon-helloworld-deploy-hosting-" + addon.Namespace + "-0"
		work.Labels[addonv1beta1.AddonNamespaceLabelKey] = addon.Namespace
	}
	for _, object := range objects {
		if isJob(object) {
			continue
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return work
}

// shipped is the ManifestWork of an agent with these values, in the namespace of
// the cluster where it runs.
func shipped(t *testing.T, addon *addonv1beta1.ManagedClusterAddOn, place Place, values Values) *workv1.ManifestWork {
	t.Helper()
	values.ClusterName, values.AddOnUID = addon.Namespace, addon.UID
	values.InstallNamespace, values.Hosted = place.Namespace, place.HostingCluster != ""
	objects, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	namespace := place.HostingCluster
	if namespace == "" {
		namespace = addon.Namespace
	}
	return ship(t, addon, namespace, objects)
}

type workList = []*workv1.ManifestWork

func hookOf(t *testing.T, objects []runtime.Object) *batchv1.Job {
	t.Helper()
	for _, object := range objects {
		if isJob(object) {
			return object.(*batchv1.Job)
		}
	}
	t.Fatal("there is no hook")
	return nil
}

package addon

import (
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

	"open-cluster-management.io/helloworld-addon/internal/testing/hubobjects"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/install"
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
		Works:            works, RoleBindings: bindings(), ReplicaSetRoleBindings: bindings(),
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
			ConfigGroupResource: install.DeploymentConfigs,
			ConfigReferent:      addonv1beta1.ConfigReferent{Namespace: "configs", Name: "config"},
		}}},
	}
}

func hookOf(t *testing.T, objects []runtime.Object) *batchv1.Job {
	t.Helper()
	for _, object := range objects {
		if hubobjects.IsHook(object) {
			return object.(*batchv1.Job)
		}
	}
	t.Fatal("there is no hook")
	return nil
}

// shipped returns the ManifestWork of an agent with these values, in the namespace of
// the cluster where it runs.
func shipped(t *testing.T, addon *addonv1beta1.ManagedClusterAddOn, place install.Place, values install.Values) *workv1.ManifestWork {
	t.Helper()
	values.ClusterName, values.AddOnUID = addon.Namespace, addon.UID
	values.InstallNamespace, values.Hosted = place.Namespace, place.HostingCluster != ""
	objects, err := install.Render(values)
	if err != nil {
		t.Fatal(err)
	}
	namespace := place.HostingCluster
	if namespace == "" {
		namespace = addon.Namespace
	}
	return hubobjects.Ship(t, addon, namespace, objects)
}

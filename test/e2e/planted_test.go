//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
)

// planted is the name of what a cluster tries to get onto another one.
const planted = "e2e-planted"

// A cluster's work agent may change the ManifestWorks in its own namespace of the
// hub. One that passes for the work of a hosting cluster neither brings an object
// onto another cluster nor keeps that from its agent.
func plantedWorkReachesNobody(t *testing.T, env *environment) {
	thief, victim := env.first(), env.second()
	works := env.hub.work.WorkV1().ManifestWorks(thief.name)
	_, err := works.Create(t.Context(), &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Name: planted, Namespace: thief.name, Labels: map[string]string{suiteLabel: "true"}},
		Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: plantedObjects("ConfigMap")}},
	}, metav1.CreateOptions{})
	must(t, "create a ManifestWork of the cluster", err)
	cleanup(t, "delete it", func(ctx context.Context) error {
		if err := ignoreNotFound(works.Delete(ctx, planted, metav1.DeleteOptions{})); err != nil {
			return err
		}
		return poll(ctx, deadline, func(ctx context.Context) error {
			_, err := works.Get(ctx, planted, metav1.GetOptions{})
			return gone("ManifestWork "+planted, err)
		})
	})

	config := rest.CopyConfig(env.hub.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:open-cluster-management:" + thief.name + ":e2e",
		Groups:   []string{"system:open-cluster-management", "system:open-cluster-management:" + thief.name, "system:authenticated"},
	}
	agent, err := workclient.NewForConfig(config)
	must(t, "create a client of the work agent", err)
	eventually(t, "the work agent relabels the work as the victim's", func(ctx context.Context) error {
		work, err := agent.WorkV1().ManifestWorks(thief.name).Get(ctx, planted, metav1.GetOptions{})
		if err != nil {
			return err
		}
		work.Labels[addonv1beta1.AddonLabelKey] = addonName
		work.Labels[addonv1beta1.AddonNamespaceLabelKey] = victim.name
		work.Spec.Workload.Manifests = plantedObjects("ConfigMap", "Deployment")
		_, err = agent.WorkV1().ManifestWorks(thief.name).Update(ctx, work, metav1.UpdateOptions{})
		return err
	})

	env.awaitCopying(t, victim)
	must(t, "disable the add-on", env.disable(t.Context(), victim))
	milestones := env.startEnabling(t, victim, "beside a planted ManifestWork", env.enableV1beta1)
	reach(t, milestones[:len(milestones)-1])
	// Whatever is shipped is shipped again now.
	_, err = env.hub.addon.AddonV1beta1().ManagedClusterAddOns(victim.name).Patch(t.Context(), addonName, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"e2e-again":"now"}}}`), metav1.PatchOptions{})
	must(t, "touch the add-on", err)
	consistently(t, quiet, "no ManifestWork of the victim has a planted object", func(ctx context.Context) error {
		found, err := env.hub.work.WorkV1().ManifestWorks(victim.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range found.Items {
			for _, manifest := range found.Items[i].Spec.Workload.Manifests {
				if strings.Contains(string(manifest.Raw), planted) {
					return fmt.Errorf("ManifestWork %s has %s", found.Items[i].Name, manifest.Raw)
				}
			}
		}
		return nil
	})
	addOn, err := env.hub.addon.AddonV1beta1().ManagedClusterAddOns(victim.name).Get(t.Context(), addonName, metav1.GetOptions{})
	must(t, "get the add-on", err)
	for _, finalizer := range addOn.Finalizers {
		if strings.Contains(finalizer, "hosting") {
			t.Errorf("the add-on is treated as one in hosted mode: finalizer %s", finalizer)
		}
	}
}

// plantedObjects are objects of the kinds that a cluster would like to have on
// another one; the Deployment has the agent's name and runs nothing.
func plantedObjects(kinds ...string) []workv1.Manifest {
	objects := map[string]string{
		"ConfigMap": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"e2e-planted","namespace":"default"}}`,
		"Deployment": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"helloworld-agent","namespace":"e2e-planted",
			"annotations":{"addon.open-cluster-management.io/hosted-manifest-location":"hosting"}},
			"spec":{"replicas":0,"selector":{"matchLabels":{"app":"e2e-planted"}},"template":{"metadata":{"labels":{"app":"e2e-planted"}},
			"spec":{"containers":[{"name":"planted","image":"e2e-planted"}]}}}}`,
	}
	var manifests []workv1.Manifest
	for _, kind := range kinds {
		manifests = append(manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(objects[kind])}})
	}
	return manifests
}

// Package stored reads and writes the add-on's ManagedClusterAddOns in the version in which
// OCM stores them, v1alpha1, for callers that use v1beta1, as addon-framework does.
//
// The API server converts every other version by requests to OCM's webhook: about ten for a
// write, and one for each event of a watch, one after the other. While the add-on is
// enabled on a fleet such a cache is seconds to minutes behind, and writes from it are
// refused as conflicts (docs/upstream/ocm-addon-conversion.md).
//
// A hub that no longer serves v1alpha1 gets every request in v1beta1, after one in v1alpha1
// that it does not find. The package does not notice that a hub stores v1beta1 but still
// serves v1alpha1: that costs what it saves now, until the controller restarts.
package stored

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/client-go/tools/cache"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
)

const kind = "ManagedClusterAddOn"

// InV1alpha1 reports whether the hub stores ManagedClusterAddOns in v1alpha1 and serves
// them in it. served are the resources of any version of the add-on API, as discovery
// returns them, with a hash of the stored version.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/api-resources/
func InV1alpha1(served []metav1.APIResource) bool {
	version := addonv1alpha1.GroupVersion
	return slices.ContainsFunc(served, func(r metav1.APIResource) bool {
		return r.Name == "managedclusteraddons" && r.StorageVersionHash == discovery.StorageVersionHash(version.Group, version.Version, kind)
	})
}

// AddOns lists and watches the ManagedClusterAddOns of all namespaces that tweak selects.
func AddOns(client addonclient.Interface, tweak func(*metav1.ListOptions)) cache.ListerWatcher {
	addOns, unstored := client.AddonV1alpha1().ManagedClusterAddOns(metav1.NamespaceAll), client.AddonV1beta1().ManagedClusterAddOns(metav1.NamespaceAll)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			list, err := addOns.List(ctx, options)
			if apierrors.IsNotFound(err) {
				return unstored.List(ctx, options)
			}
			if err != nil {
				return nil, err
			}
			converted := &addonv1beta1.ManagedClusterAddOnList{ListMeta: list.ListMeta, Items: make([]addonv1beta1.ManagedClusterAddOn, len(list.Items))}
			for i := range list.Items {
				if err := Convert(&list.Items[i], &converted.Items[i]); err != nil {
					return nil, err
				}
			}
			return converted, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			events, err := addOns.Watch(ctx, options)
			if apierrors.IsNotFound(err) {
				return unstored.Watch(ctx, options)
			}
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, convertEvent), nil
		},
	}, client)
}

// convertEvent converts an event of a watch. An error of the API server stays as it is. An
// object that cannot be converted ends the watch, and the list that follows fails with the
// reason.
func convertEvent(event watch.Event) (watch.Event, bool) {
	addOn, ok := event.Object.(*addonv1alpha1.ManagedClusterAddOn)
	if !ok {
		return event, true
	}
	converted := &addonv1beta1.ManagedClusterAddOn{}
	if err := Convert(addOn, converted); err != nil {
		return watch.Event{Type: watch.Error, Object: &apierrors.NewInternalError(err).ErrStatus}, true
	}
	return watch.Event{Type: event.Type, Object: converted}, true
}

// Convert converts an add-on as OCM's webhook does. The result shares memory with from.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/addon/webhook/v1beta1/managedclusteraddon_conversion.go
func Convert(from *addonv1alpha1.ManagedClusterAddOn, to *addonv1beta1.ManagedClusterAddOn) error {
	if err := addonv1beta1.Convert_v1alpha1_ManagedClusterAddOn_To_v1beta1_ManagedClusterAddOn(from, to, nil); err != nil {
		return fmt.Errorf("convert ManagedClusterAddOn %s/%s: %w", from.Namespace, from.Name, err)
	}
	to.TypeMeta = metav1.TypeMeta{Kind: kind, APIVersion: addonv1beta1.GroupVersion.String()}
	//nolint:staticcheck // the field of the stored version
	if namespace := from.Spec.InstallNamespace; namespace != "" {
		if to.Annotations == nil {
			to.Annotations = map[string]string{}
		}
		to.Annotations[addonv1beta1.InstallNamespaceAnnotation] = namespace
	}
	return nil
}

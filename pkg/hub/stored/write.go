package stored

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	addonclientv1alpha1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1alpha1"
	addonclientv1beta1 "open-cluster-management.io/api/client/addon/clientset/versioned/typed/addon/v1beta1"
)

// Client returns a client whose updates, merge patches, and JSON patches of finalizers and
// conditions of ManagedClusterAddOns in v1beta1 are sent in v1alpha1. A patch that it cannot
// translate is sent as it is: the hub's webhook then converts it. So is a write that v1alpha1
// alone may refuse.
func Client(client addonclient.Interface) addonclient.Interface { return converting{client} }

type converting struct{ addonclient.Interface }

// AddonV1beta1 returns the client of the API's version v1beta1.
func (c converting) AddonV1beta1() addonclientv1beta1.AddonV1beta1Interface {
	return convertingV1beta1{c.Interface.AddonV1beta1(), c.AddonV1alpha1()}
}

type convertingV1beta1 struct {
	addonclientv1beta1.AddonV1beta1Interface
	stored addonclientv1alpha1.AddonV1alpha1Interface
}

// ManagedClusterAddOns returns the client of a cluster's add-ons.
func (c convertingV1beta1) ManagedClusterAddOns(cluster string) addonclientv1beta1.ManagedClusterAddOnInterface {
	return convertingIn{c.AddonV1beta1Interface.ManagedClusterAddOns(cluster), c.stored.ManagedClusterAddOns(cluster)}
}

type convertingIn struct {
	addonclientv1beta1.ManagedClusterAddOnInterface
	stored addonclientv1alpha1.ManagedClusterAddOnInterface
}

// Update updates the add-on's metadata and spec.
func (c convertingIn) Update(ctx context.Context, addOn *addonv1beta1.ManagedClusterAddOn, options metav1.UpdateOptions,
) (*addonv1beta1.ManagedClusterAddOn, error) {
	var to addonv1alpha1.ManagedClusterAddOn
	if err := toStored(addOn, &to); err != nil {
		return nil, err
	}
	updated, err := c.stored.Update(ctx, &to, options)
	if fallsBack(err) {
		return c.ManagedClusterAddOnInterface.Update(ctx, addOn, options)
	}
	return result(updated, err)
}

// Patch patches the add-on.
func (c convertingIn) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (*addonv1beta1.ManagedClusterAddOn, error) {
	if translated, ok := translate(kind, patch); ok {
		patched, err := c.stored.Patch(ctx, name, kind, translated, options, subresources...)
		// A JSON patch is refused as invalid when what it tests is not so, in each version.
		if !fallsBack(err) || kind == types.JSONPatchType && apierrors.IsInvalid(err) {
			return result(patched, err)
		}
	}
	return c.ManagedClusterAddOnInterface.Patch(ctx, name, kind, patch, options, subresources...)
}

// fallsBack reports whether the same write in v1beta1 may succeed: v1alpha1 may no longer be
// served, and its schema checks an install namespace that is an annotation in v1beta1.
func fallsBack(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsInvalid(err) }

func result(addOn *addonv1alpha1.ManagedClusterAddOn, err error) (*addonv1beta1.ManagedClusterAddOn, error) {
	if err != nil || addOn == nil {
		return nil, err
	}
	var converted addonv1beta1.ManagedClusterAddOn
	return &converted, Convert(addOn, &converted)
}

// toStored converts metadata and spec as OCM's webhook does. An update leaves the status.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/addon/webhook/v1beta1/managedclusteraddon_conversion.go
func toStored(from *addonv1beta1.ManagedClusterAddOn, to *addonv1alpha1.ManagedClusterAddOn) error {
	if err := addonv1beta1.Convert_v1beta1_ManagedClusterAddOn_To_v1alpha1_ManagedClusterAddOn(from.DeepCopy(), to, nil); err != nil {
		return fmt.Errorf("convert ManagedClusterAddOn %s/%s: %w", from.Namespace, from.Name, err)
	}
	to.TypeMeta, to.Status = metav1.TypeMeta{}, addonv1alpha1.ManagedClusterAddOnStatus{}
	if namespace, ok := to.Annotations[addonv1beta1.InstallNamespaceAnnotation]; ok {
		to.Spec.InstallNamespace = namespace //nolint:staticcheck // the field of the stored version
		delete(to.Annotations, addonv1beta1.InstallNamespaceAnnotation)
	}
	return nil
}

// same are the fields of the status that are the same in both versions.
var same = map[string]bool{"conditions": true, "relatedObjects": true, "addOnMeta": true, "supportedConfigs": true, "namespace": true, "healthCheck": true}

// translate translates a merge patch of the status or the metadata. It reports whether it
// could: it knows every field of the patch.
func translate(kind types.PatchType, patch []byte) (translated []byte, ok bool) {
	if kind == types.JSONPatchType {
		return patch, isOfSame(patch)
	}
	var content struct {
		Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
		Status   map[string]json.RawMessage `json:"status,omitempty"`
	}
	var every map[string]json.RawMessage
	if kind != types.MergePatchType || json.Unmarshal(patch, &every) != nil || json.Unmarshal(patch, &content) != nil {
		return nil, false
	}
	for field, value := range every {
		if field != "metadata" && field != "status" || string(value) == "null" {
			return nil, false
		}
	}
	if _, ok := content.Metadata["annotations"]; ok { // one of them is a field of the spec
		return nil, false
	}
	for field := range content.Status {
		if !same[field] && field != "registrations" && field != "configReferences" {
			return nil, false
		}
	}
	if !translateStatus(patch, content.Status) {
		return nil, false
	}
	translated, err := json.Marshal(content)
	return translated, err == nil
}

// isOfSame reports whether a JSON patch has no operation but on the UID, the finalizers and
// the conditions, which are the same in both versions.
func isOfSame(patch []byte) bool {
	var operations []struct {
		Path string `json:"path"`
		From string `json:"from"`
	}
	if json.Unmarshal(patch, &operations) != nil {
		return false
	}
	for _, operation := range operations {
		same := operation.Path == "/metadata/uid" || operation.Path == "/metadata/finalizers" || strings.HasPrefix(operation.Path, "/status/conditions/")
		if operation.From != "" || !same {
			return false
		}
	}
	return true
}

// translateStatus replaces the fields of a patch's status that differ. In the stored version
// the driver is a field of the status, and each reference repeats the name of the desired
// config, which is required.
func translateStatus(patch []byte, status map[string]json.RawMessage) bool {
	var from addonv1beta1.ManagedClusterAddOn
	var to addonv1alpha1.ManagedClusterAddOnStatus
	if json.Unmarshal(patch, &from) != nil ||
		addonv1beta1.Convert_v1beta1_ManagedClusterAddOnStatus_To_v1alpha1_ManagedClusterAddOnStatus(&from.Status, &to, nil) != nil {
		return false
	}
	if _, ok := status["registrations"]; ok {
		var driver *string
		if to.KubeClientDriver != "" {
			driver = &to.KubeClientDriver
		}
		if !set(status, "registrations", to.Registrations) || !set(status, "kubeClientDriver", driver) {
			return false
		}
	}
	if _, ok := status["configReferences"]; !ok {
		return true
	}
	for i := range to.ConfigReferences {
		reference := &to.ConfigReferences[i]
		if reference.DesiredConfig == nil {
			return false
		}
		reference.ConfigReferent = reference.DesiredConfig.ConfigReferent
	}
	return set(status, "configReferences", to.ConfigReferences)
}

func set(status map[string]json.RawMessage, field string, value any) bool {
	content, err := json.Marshal(value)
	status[field] = content
	return err == nil
}

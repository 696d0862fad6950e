package uninstall

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// Copy is a copy to delete.
type Copy struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Deleting reports whether it has a deletionTimestamp.
	Deleting   bool
	Finalizers []string
}

// Owned returns the ConfigMaps that the mirror of this scope owns
// (docs/design.md#rule-3-ownership).
func Owned(scope plan.Scope, configMaps []corev1.ConfigMap) []Copy {
	var copies []Copy
	for i := range configMaps {
		cm := &configMaps[i]
		if plan.Excluded(cm.Name) || !scope.NewCopy(cm).Owned {
			continue
		}
		copies = append(copies, Copy{Name: cm.Name, UID: cm.UID, ResourceVersion: cm.ResourceVersion,
			Deleting: cm.DeletionTimestamp != nil, Finalizers: cm.Finalizers})
	}
	return copies
}

// Marker returns the uninstall marker to write, nil if the present one is right.
// Present and owner may be nil.
func Marker(present *corev1.ConfigMap, config Config, owner *metav1.OwnerReference) (*corev1.ConfigMap, error) {
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: manifests.UninstallMarker, Namespace: config.Scope.InstallNamespace,
		Labels: map[string]string{manifests.UninstallLabel: string(config.AddOn)},
	}}
	if owner != nil {
		wanted.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if present == nil {
		return wanted, nil
	}
	uid, ours := present.Labels[manifests.UninstallLabel]
	switch {
	case !ours:
		return nil, fmt.Errorf("ConfigMap %s is in the way and was not created by the add-on: delete it", present.Name)
	case present.DeletionTimestamp != nil:
		return nil, fmt.Errorf("ConfigMap %s of an earlier uninstall is still being deleted", present.Name)
	case uid == string(config.AddOn) && slices.EqualFunc(present.OwnerReferences, wanted.OwnerReferences,
		func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }):
		return nil, nil
	}
	wanted.UID, wanted.ResourceVersion = present.UID, present.ResourceVersion
	return wanted, nil
}

// Answered reports whether an agent has answered on the marker of this add-on.
func Answered(marker *corev1.ConfigMap, addOn types.UID) bool {
	return marker.Labels[manifests.UninstallLabel] == string(addOn) &&
		marker.Annotations[manifests.StoppedAnnotation] == string(addOn)
}

// Remaining is the error for copies that are left.
type Remaining struct {
	Copies []Copy
	// Most is the largest number of copies that there were.
	Most int
	// Cause is the reason, nil if the API server accepted each delete.
	Cause error
}

// maxNames limits the names in the error.
const maxNames = 10

func (r *Remaining) Error() string {
	var names []string
	for _, c := range r.Copies {
		name := c.Name
		if c.Deleting && len(c.Finalizers) > 0 {
			name += fmt.Sprintf(" (held by finalizers %s)", strings.Join(c.Finalizers, ", "))
		}
		names = append(names, name)
	}
	slices.Sort(names)
	message := fmt.Sprintf("removing the copies: %d of %d left: %s", len(names), r.Most, text.List(names, maxNames))
	if r.Cause != nil {
		first, _, _ := strings.Cut(r.Cause.Error(), "\n")
		message += ": " + first
	}
	return message
}

func (r *Remaining) Unwrap() error { return r.Cause }

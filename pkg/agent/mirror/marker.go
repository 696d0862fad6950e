package mirror

import (
	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Answer is the update of the uninstall marker that says that the mirror has
// stopped, nil where there is no marker to answer to, or it was answered.
func Answer(marker *Copy) *Action {
	if marker == nil || marker.Deleting || marker.Meta == nil {
		return nil
	}
	uid, ok := marker.Meta.Labels[manifests.UninstallLabel]
	if !ok || marker.Meta.Annotations[manifests.StoppedAnnotation] == uid {
		return nil
	}
	object := &corev1.ConfigMap{ObjectMeta: *marker.Meta.DeepCopy()}
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[manifests.StoppedAnnotation] = uid
	return &Action{Kind: Update, Name: marker.Name, Object: object}
}

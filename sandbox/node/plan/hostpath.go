package plan

import (
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// ClaimOf returns the name of the claim behind a volume, empty if it has none. A generic
// ephemeral volume's claim is created by Kubernetes:
// https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#persistentvolumeclaim-naming
func ClaimOf(pod *corev1.Pod, v corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// Within reports whether an absolute path is one of the directories or below one.
func Within(path string, dirs []string) bool {
	for _, dir := range dirs {
		if inside, err := filepath.Rel(dir, filepath.Clean(path)); err == nil && filepath.IsLocal(inside) {
			return true
		}
	}
	return false
}

// HostPathOf returns the path on the machine of a persistent volume. Other kinds of volumes
// than hostPath and local are an error.
func HostPathOf(v *corev1.PersistentVolume) (*corev1.HostPathVolumeSource, error) {
	switch {
	case v.Spec.HostPath != nil:
		return v.Spec.HostPath, nil
	case v.Spec.Local != nil:
		directory := corev1.HostPathDirectory
		return &corev1.HostPathVolumeSource{Path: v.Spec.Local.Path, Type: &directory}, nil
	}
	return nil, fmt.Errorf("persistent volume %q is neither of the kind hostPath nor local", v.Name)
}

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ObjectKind is the kind of an object that a pod can refer to.
type ObjectKind string

const (
	SecretKind    ObjectKind = "secret"
	ConfigMapKind ObjectKind = "configmap"
)

// Reference names a Secret or ConfigMap in the pod's namespace.
type Reference struct {
	Kind ObjectKind
	Name string
}

// Objects holds the existing Secrets and ConfigMaps that a pod refers to, by name.
type Objects struct {
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// MissingError is the error of a required Secret, ConfigMap or key that does not
// exist.
type MissingError struct {
	Ref       Reference
	Namespace string
	// Key is empty when the whole object is missing.
	Key string
}

func (e *MissingError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s %q not found", e.Ref.Kind, e.Ref.Name)
	}
	return fmt.Sprintf("couldn't find key %s in %s %s/%s", e.Key, e.Ref.Kind, e.Namespace, e.Ref.Name)
}

// References returns the set of all Secrets and ConfigMaps that a pod's containers
// and volumes refer to.
func References(spec *corev1.PodSpec) map[Reference]bool {
	refs := map[Reference]bool{}
	secret := func(name string) { refs[Reference{SecretKind, name}] = true }
	configMap := func(name string) { refs[Reference{ConfigMapKind, name}] = true }
	for _, c := range Containers(spec) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				secret(from.SecretRef.Name)
			}
			if from.ConfigMapRef != nil {
				configMap(from.ConfigMapRef.Name)
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom == nil {
				continue
			}
			if ref := env.ValueFrom.SecretKeyRef; ref != nil {
				secret(ref.Name)
			}
			if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
				configMap(ref.Name)
			}
		}
	}
	for _, v := range spec.Volumes {
		if v.Secret != nil {
			secret(v.Secret.SecretName)
		}
		if v.ConfigMap != nil {
			configMap(v.ConfigMap.Name)
		}
		for _, source := range projections(v) {
			if source.Secret != nil {
				secret(source.Secret.Name)
			}
			if source.ConfigMap != nil {
				configMap(source.ConfigMap.Name)
			}
		}
	}
	return refs
}

// projections returns the sources of a projected volume, nil for any other volume.
func projections(v corev1.Volume) []corev1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}

// Containers returns the pod's init containers followed by its ordinary and its ephemeral
// containers.
func Containers(spec *corev1.PodSpec) []corev1.Container {
	return slices.Concat(spec.InitContainers, spec.Containers, ephemeral(spec))
}

// yes reports whether an optional boolean is set and true.
func yes(b *bool) bool { return b != nil && *b }

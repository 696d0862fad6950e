package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ObjectKind is what a pod can refer to by name in its namespace.
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

// Objects are the Secrets and ConfigMaps that a pod refers to and that exist.
type Objects struct {
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// MissingError is a required Secret, ConfigMap or key that is not there (yet).
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

// References are all Secrets and ConfigMaps that a pod's containers and volumes
// name, each once.
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

// projections are the sources of a projected volume, none for any other.
func projections(v corev1.Volume) []corev1.VolumeProjection {
	if v.Projected == nil {
		return nil
	}
	return v.Projected.Sources
}

// Containers are the init containers and then the others.
func Containers(spec *corev1.PodSpec) []corev1.Container {
	return append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...)
}

// yes is an optional boolean that is set and true.
func yes(b *bool) bool { return b != nil && *b }

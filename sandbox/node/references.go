package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// objectKind is what a pod can refer to by name in its namespace.
type objectKind string

const (
	secretKind    objectKind = "secret"
	configMapKind objectKind = "configmap"
)

// reference names a Secret or ConfigMap in the pod's namespace.
type reference struct {
	Kind objectKind
	Name string
}

// objects are the Secrets and ConfigMaps that a pod refers to and that exist.
type objects struct {
	Secrets    map[string]*corev1.Secret
	ConfigMaps map[string]*corev1.ConfigMap
}

// missingError is a required Secret, ConfigMap or key that is not there (yet).
type missingError struct {
	Ref       reference
	Namespace string
	// Key is empty when the whole object is missing.
	Key string
}

func (e *missingError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s %q not found", e.Ref.Kind, e.Ref.Name)
	}
	return fmt.Sprintf("couldn't find key %s in %s %s/%s", e.Key, e.Ref.Kind, e.Namespace, e.Ref.Name)
}

// references are all Secrets and ConfigMaps that a pod's containers and volumes
// name, each once.
func references(spec *corev1.PodSpec) map[reference]bool {
	refs := map[reference]bool{}
	secret := func(name string) { refs[reference{secretKind, name}] = true }
	configMap := func(name string) { refs[reference{configMapKind, name}] = true }
	for _, c := range allContainers(spec) {
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

// allContainers are the init containers and then the others.
func allContainers(spec *corev1.PodSpec) []corev1.Container {
	return append(append([]corev1.Container{}, spec.InitContainers...), spec.Containers...)
}

// yes is an optional boolean that is set and true.
func yes(b *bool) bool { return b != nil && *b }

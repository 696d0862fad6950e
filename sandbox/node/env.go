package node

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// surroundings are all values that a pod's environment and volumes are made from.
type surroundings struct {
	Pod     *corev1.Pod
	Objects objects
	At      addresses
	// Allocatable is the node's.
	Allocatable corev1.ResourceList
}

// environment is a container's environment: variables by name, and their names
// in the order in which they were set.
type environment struct {
	Vars  map[string]string
	Order []string
}

func (e *environment) set(name, value string) {
	if _, known := e.Vars[name]; !known {
		e.Order = append(e.Order, name)
	}
	e.Vars[name] = value
}

// list is the environment as a process gets it.
func (e environment) list() []string {
	out := make([]string, 0, len(e.Order))
	for _, name := range e.Order {
		out = append(out, name+"="+e.Vars[name])
	}
	return out
}

// resolveEnv is a container's environment by kubelet's rules: envFrom in order,
// then env, of which later entries may refer to earlier ones; defaults are what
// the node would set, and give way to both. A required object or key that is not
// there is a *missingError.
func resolveEnv(c corev1.Container, in surroundings, defaults []corev1.EnvVar) (environment, error) {
	env := environment{Vars: map[string]string{}}
	for _, from := range c.EnvFrom {
		if err := addAll(&env, from, in); err != nil {
			return environment{}, err
		}
	}
	known := map[string]string{}
	for _, d := range defaults {
		known[d.Name] = d.Value
	}
	for _, v := range c.Env {
		for name, value := range env.Vars {
			known[name] = value
		}
		value, found, err := envValue(c, v, in, known)
		if err != nil {
			return environment{}, err
		}
		if found {
			env.set(v.Name, value)
		}
	}
	for _, d := range defaults {
		if _, set := env.Vars[d.Name]; !set {
			env.set(d.Name, d.Value)
		}
	}
	return env, nil
}

// addAll takes over every key of an object that can be a variable's name.
func addAll(env *environment, from corev1.EnvFromSource, in surroundings) error {
	values := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		object, ok := in.Objects.ConfigMaps[from.ConfigMapRef.Name]
		if !ok {
			return absent(in, from.ConfigMapRef.Optional, reference{configMapKind, from.ConfigMapRef.Name}, "")
		}
		values = object.Data
	case from.SecretRef != nil:
		object, ok := in.Objects.Secrets[from.SecretRef.Name]
		if !ok {
			return absent(in, from.SecretRef.Optional, reference{secretKind, from.SecretRef.Name}, "")
		}
		for key, value := range object.Data {
			values[key] = string(value)
		}
	}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if len(validation.IsEnvVarName(from.Prefix+key)) == 0 {
			env.set(from.Prefix+key, values[key])
		}
	}
	return nil
}

// envValue is one variable's value; found is false for an optional one that is
// not there.
func envValue(c corev1.Container, v corev1.EnvVar, in surroundings, known map[string]string) (value string, found bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return expand(v.Value, known), true, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return keyOf(in, reference{configMapKind, ref.Name}, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return keyOf(in, reference{secretKind, ref.Name}, ref.Key, ref.Optional)
	case from.FieldRef != nil:
		value, err = fieldValue(in.Pod, in.At, from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		owner, e := containerNamed(in.Pod, from.ResourceFieldRef.ContainerName, c)
		if e != nil {
			return "", false, e
		}
		value, err = resourceValue(owner, in.Allocatable, *from.ResourceFieldRef)
	default:
		return "", false, fmt.Errorf("variable %q of container %q has a source that this node does not know", v.Name, c.Name)
	}
	return value, err == nil, err
}

// keyOf is the value of one key of a Secret or ConfigMap.
func keyOf(in surroundings, ref reference, key string, optional *bool) (string, bool, error) {
	if ref.Kind == secretKind {
		object, ok := in.Objects.Secrets[ref.Name]
		if !ok {
			return "", false, absent(in, optional, ref, "")
		}
		if value, ok := object.Data[key]; ok {
			return string(value), true, nil
		}
		return "", false, absent(in, optional, ref, key)
	}
	object, ok := in.Objects.ConfigMaps[ref.Name]
	if !ok {
		return "", false, absent(in, optional, ref, "")
	}
	if value, ok := object.Data[key]; ok {
		return value, true, nil
	}
	return "", false, absent(in, optional, ref, key)
}

// absent is the error for what is not there, none when it need not be.
func absent(in surroundings, optional *bool, ref reference, key string) error {
	if yes(optional) {
		return nil
	}
	return &missingError{Ref: ref, Namespace: in.Pod.Namespace, Key: key}
}

// containerNamed finds a container of the pod; no name means self.
func containerNamed(pod *corev1.Pod, name string, self corev1.Container) (corev1.Container, error) {
	if name == "" {
		return self, nil
	}
	for _, c := range allContainers(&pod.Spec) {
		if c.Name == name {
			return c, nil
		}
	}
	return corev1.Container{}, fmt.Errorf("pod %s/%s has no container %q", pod.Namespace, pod.Name, name)
}

package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Inputs holds everything that a pod's environment and volumes depend on.
type Inputs struct {
	Pod     *corev1.Pod
	Objects Objects
	At      Addresses
	// Allocatable is the node's capacity for pods.
	Allocatable corev1.ResourceList
}

// Environment is a container's environment: the variables, and their names in the
// order in which they were set.
type Environment struct {
	Vars  map[string]string
	Order []string
}

func (e *Environment) set(name, value string) {
	if _, known := e.Vars[name]; !known {
		e.Order = append(e.Order, name)
	}
	e.Vars[name] = value
}

// List returns the environment as NAME=VALUE, for a process.
func (e Environment) List() []string {
	out := make([]string, 0, len(e.Order))
	for _, name := range e.Order {
		out = append(out, name+"="+e.Vars[name])
	}
	return out
}

// ResolveEnv returns a container's environment by kubelet's rules: envFrom in order,
// then env, where an entry may refer to earlier ones. Both override defaults, the
// node's own variables. A missing required object or key is a *MissingError.
func ResolveEnv(c corev1.Container, in Inputs, defaults []corev1.EnvVar) (Environment, error) {
	env := Environment{Vars: map[string]string{}}
	for _, from := range c.EnvFrom {
		if err := addAll(&env, from, in); err != nil {
			return Environment{}, err
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
			return Environment{}, err
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

// addAll sets a variable for every key of an object that is a valid name.
func addAll(env *Environment, from corev1.EnvFromSource, in Inputs) error {
	values := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		object, ok := in.Objects.ConfigMaps[from.ConfigMapRef.Name]
		if !ok {
			return absent(in, from.ConfigMapRef.Optional, Reference{ConfigMapKind, from.ConfigMapRef.Name}, "")
		}
		values = object.Data
	case from.SecretRef != nil:
		object, ok := in.Objects.Secrets[from.SecretRef.Name]
		if !ok {
			return absent(in, from.SecretRef.Optional, Reference{SecretKind, from.SecretRef.Name}, "")
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

// envValue returns one variable's value; found is false for a missing optional one.
func envValue(c corev1.Container, v corev1.EnvVar, in Inputs, known map[string]string) (value string, found bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return Expand(v.Value, known), true, nil
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return keyOf(in, Reference{ConfigMapKind, ref.Name}, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return keyOf(in, Reference{SecretKind, ref.Name}, ref.Key, ref.Optional)
	case from.FieldRef != nil:
		value, err = fieldValue(in.Pod, in.At, from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		owner, e := ContainerNamed(in.Pod, from.ResourceFieldRef.ContainerName, c)
		if e != nil {
			return "", false, e
		}
		value, err = resourceValue(owner, in.Allocatable, *from.ResourceFieldRef)
	default:
		return "", false, fmt.Errorf("variable %q of container %q: unknown source", v.Name, c.Name)
	}
	return value, err == nil, err
}

// keyOf returns the value of one key of a Secret or ConfigMap.
func keyOf(in Inputs, ref Reference, key string, optional *bool) (string, bool, error) {
	if ref.Kind == SecretKind {
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

// absent returns a *MissingError, or nil if the reference is optional.
func absent(in Inputs, optional *bool, ref Reference, key string) error {
	if yes(optional) {
		return nil
	}
	return &MissingError{Ref: ref, Namespace: in.Pod.Namespace, Key: key}
}

// ContainerNamed returns the pod's container of that name; an empty name means self.
func ContainerNamed(pod *corev1.Pod, name string, self corev1.Container) (corev1.Container, error) {
	if name == "" {
		return self, nil
	}
	for _, c := range Containers(&pod.Spec) {
		if c.Name == name {
			return c, nil
		}
	}
	return corev1.Container{}, fmt.Errorf("pod %s/%s has no container %q", pod.Namespace, pod.Name, name)
}

// Addresses are the IP addresses of the pod and of its node in the downward API.
type Addresses struct {
	Pod, Host string
}

// fieldValue returns the downward API's value of a field of the pod. For example,
// metadata.labels['app'] is the value of the label app.
func fieldValue(pod *corev1.Pod, at Addresses, path string) (string, error) {
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return at.Host, nil
	case "status.podIP", "status.podIPs":
		return at.Pod, nil
	}
	return "", fmt.Errorf("field %q of a pod: not in the downward API", path)
}

// subscript splits NAME['KEY'].
func subscript(path string) (name, key string, ok bool) {
	name, rest, found := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(rest, "']")
	return name, key, found && closed
}

// formatMap returns labels or annotations in kubelet's form: sorted key="value" lines.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for key, value := range m {
		lines = append(lines, fmt.Sprintf("%v=%q", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// resourceValue returns the downward API's value of a container's request or limit:
// the number of the divisor's units, rounded up. For example, 100m CPUs with the
// divisor 1 are 1. The default of a limit is the node's allocatable amount.
func resourceValue(c corev1.Container, node corev1.ResourceList, selector corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(selector.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = c.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		limit, set := c.Resources.Limits[corev1.ResourceName(name)]
		if !set {
			limit = node[corev1.ResourceName(name)]
		}
		quantity = limit
	default:
		return "", fmt.Errorf("resource %q of container %q is neither a request nor a limit", selector.Resource, c.Name)
	}
	divisor := selector.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return ceilDiv(quantity.MilliValue(), divisor.MilliValue()), nil
	}
	return ceilDiv(quantity.Value(), divisor.Value()), nil
}

func ceilDiv(value, divisor int64) string {
	return fmt.Sprintf("%d", int64(math.Ceil(float64(value)/float64(divisor))))
}

// Expand replaces $(NAME) by the variable's value. By Kubernetes' rules, a reference
// to an unknown variable stays as it is, and $$ is a literal $: $$(NAME) becomes
// $(NAME).
func Expand(text string, vars map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i+1:]
		switch {
		case text[i] != '$' || rest == "":
			out.WriteByte(text[i])
		case rest[0] == '$':
			out.WriteByte('$')
			i++
		case rest[0] == '(' && strings.IndexByte(rest, ')') > 0:
			name := rest[1:strings.IndexByte(rest, ')')]
			if value, ok := vars[name]; ok {
				out.WriteString(value)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += len(name) + 2
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

// Image is an image's root file system and its configuration, by the rules of OCI:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md
type Image struct {
	// Dir is a directory laid out like the image's root file system.
	Dir string
	// Entrypoint and Command are the program and its default arguments.
	Entrypoint, Command []string
	// Env are variables as NAME=value. Those of the pod override them.
	Env []string
	// WorkingDir is the working directory unless the container sets one.
	WorkingDir string
	// User is USER, UID, USER:GROUP or UID:GID, empty for root. Passwd and Group are the
	// image's /etc/passwd and /etc/group.
	User          string
	Passwd, Group []byte
}

// ProcessEnv returns the environment of a container's process: the variables of the image,
// overridden by those of the pod. HOME is by default the user's home in the image.
func ProcessEnv(image Image, id Identity, env Environment) []string {
	merged := Environment{Vars: map[string]string{}}
	if id.Home != "" {
		merged.set("HOME", id.Home)
	}
	for _, entry := range slices.Concat(image.Env, env.List()) {
		name, value, _ := strings.Cut(entry, "=")
		merged.set(name, value)
	}
	return merged.List()
}

// errNoCommand is the error of a container without a program in pod and image.
var errNoCommand = errors.New("no command specified: neither the container nor its image names a program; set the container's command")

// CommandLine returns a container's argv. As in Kubernetes, the container's command
// replaces the image's entrypoint and default arguments; args alone replace only the
// default arguments:
// https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
func CommandLine(container corev1.Container, image Image, env map[string]string) ([]string, error) {
	var argv []string
	switch {
	case len(container.Command) > 0:
		argv = append(expandAll(container.Command, env), expandAll(container.Args, env)...)
	case len(container.Args) > 0:
		argv = append(append(argv, image.Entrypoint...), expandAll(container.Args, env)...)
	default:
		argv = append(append(argv, image.Entrypoint...), image.Command...)
	}
	if len(argv) == 0 {
		return nil, errNoCommand
	}
	return argv, nil
}

func expandAll(texts []string, env map[string]string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, Expand(text, env))
	}
	return out
}

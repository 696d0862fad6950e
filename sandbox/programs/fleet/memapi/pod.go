package memapi

import (
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// pod is a running pod: its name and its first container.
type pod struct {
	name      string
	uid       types.UID
	container corev1.Container
}

// newPod returns the pod that a template makes. The values of the environment and the
// variables in commands and arguments are resolved as a kubelet does. Values that come
// from Secrets, ConfigMaps and resources are left as they are.
func newPod(cluster, namespace, name string, uid types.UID, template *corev1.PodTemplateSpec) *pod {
	p := &pod{name: name, uid: uid}
	if len(template.Spec.Containers) == 0 {
		return p
	}
	template.Spec.Containers[0].DeepCopyInto(&p.container)
	fields := map[string]string{
		"metadata.name":           name,
		"metadata.namespace":      namespace,
		"metadata.uid":            string(uid),
		"spec.nodeName":           nodeName(cluster),
		"spec.serviceAccountName": template.Spec.ServiceAccountName,
		"status.podIP":            "127.0.0.1",
		"status.podIPs":           "127.0.0.1",
		"status.hostIP":           "127.0.0.1",
		"status.hostIPs":          "127.0.0.1",
	}
	if template.Spec.ServiceAccountName == "" {
		fields["spec.serviceAccountName"] = "default"
	}
	for prefix, values := range map[string]map[string]string{"metadata.labels": template.Labels, "metadata.annotations": template.Annotations} {
		for key, value := range values {
			fields[prefix+"['"+key+"']"] = value
		}
	}
	resolved := map[string]string{}
	expand := expansion.MappingFuncFor(resolved)
	for i := range p.container.Env {
		env := &p.container.Env[i]
		switch source := env.ValueFrom; {
		case source == nil:
			env.Value = expansion.Expand(env.Value, expand)
		case source.FieldRef != nil:
			env.Value, env.ValueFrom = fields[strings.ReplaceAll(source.FieldRef.FieldPath, `"`, "'")], nil
		default:
			continue
		}
		resolved[env.Name] = env.Value
	}
	for _, words := range [][]string{p.container.Command, p.container.Args} {
		for i := range words {
			words[i] = expansion.Expand(words[i], expand)
		}
	}
	return p
}

// hash returns a short number for a pod template.
func hash(data []byte) uint32 {
	h := fnv.New32a()
	h.Write(data)
	return h.Sum32()
}

package floor

import (
	"hash/fnv"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	ownerLabel = "app.kubernetes.io/managed-by"
	owner      = "helloworld-bench-floor"
)

// excluded is in every namespace, put there by Kubernetes.
const excluded = "kube-root-ca.crt"

// change is one source as it is now; a nil source is gone.
type change struct {
	name   string
	source *corev1.ConfigMap
}

// version is what a write of a copy has to carry.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(object *corev1.ConfigMap) version {
	return version{uid: object.UID, resourceVersion: object.ResourceVersion}
}

// plan compares both sides: which copies there are, and what has to change.
func plan(sources, copies []corev1.ConfigMap) (map[string]version, []change) {
	known := map[string]version{}
	stale := map[string]bool{}
	content := map[string]map[string]string{}
	for i := range copies {
		name := copies[i].Name
		known[name], stale[name], content[name] = versionOf(&copies[i]), true, copies[i].Data
	}
	var changes []change
	for i := range sources {
		source := &sources[i]
		if source.Name == excluded {
			continue
		}
		delete(stale, source.Name)
		if _, ok := known[source.Name]; !ok || !maps.Equal(content[source.Name], source.Data) {
			changes = append(changes, change{name: source.Name, source: source})
		}
	}
	for i := range copies {
		if stale[copies[i].Name] {
			changes = append(changes, change{name: copies[i].Name})
		}
	}
	return known, changes
}

// copyOf is the object to write; the zero version makes a new one.
func copyOf(source *corev1.ConfigMap, namespace string, v version) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: source.Name, Namespace: namespace, UID: v.uid, ResourceVersion: v.resourceVersion,
			Labels: map[string]string{ownerLabel: owner},
		},
		Data: source.Data, BinaryData: source.BinaryData,
	}
}

// shard is the writer of a name: always the same, so that the changes of one
// ConfigMap keep their order.
func shard(name string, shards int) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return int(hash.Sum32() % uint32(shards)) // #nosec G115 -- a small positive number
}

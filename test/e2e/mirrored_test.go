//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// mirrored is an entry of a ConfigMapMirror's status.
type mirrored struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	State    string `json:"state"`
	Message  string `json:"message"`
	Since    string `json:"since"`
}

// mirrorStatus is the status of a ConfigMapMirror.
type mirrorStatus struct {
	Total      int        `json:"total"`
	Synced     int        `json:"synced"`
	ConfigMaps []mirrored `json:"configMaps"`
}

// mirror returns the cluster's ConfigMapMirror and its status.
func (e *environment) mirror(ctx context.Context, c *cluster) (*unstructured.Unstructured, mirrorStatus, error) {
	var status mirrorStatus
	object, err := e.hub.dynamic.Resource(configMapMirrors).Namespace(c.name).Get(ctx, addonName, metav1.GetOptions{})
	if err != nil {
		return nil, status, err
	}
	if content, ok, err := unstructured.NestedMap(object.Object, "status"); err != nil || !ok {
		return object, status, err
	} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
		return object, status, err
	}
	return object, status, nil
}

// states checks the entry of a ConfigMap: its revision, its state, and what its message has in it.
func (e *environment) states(c *cluster, name, revision, state, message string) check {
	return func(ctx context.Context) error {
		_, status, err := e.mirror(ctx, c)
		if err != nil {
			return err
		}
		for _, entry := range status.ConfigMaps {
			if entry.Name == name && entry.Revision == revision && entry.State == state && strings.Contains(entry.Message, message) && entry.Since != "" {
				return nil
			}
		}
		return fmt.Errorf("want %s %s at revision %q with %q in %+v", name, state, revision, message, status)
	}
}

// statesAreReported: programs on the hub read from the cluster's ConfigMapMirror which revision of a
// ConfigMap is on the cluster, and what is not in sync.
func statesAreReported(t *testing.T, env *environment) {
	c := env.first()
	const plain, revised, conflict = "e2e-mirror-plain", "e2e-mirror-revised", "e2e-mirror-conflict"
	source := configMap(revised, map[string]string{"a": "1"})
	source.Annotations = map[string]string{revisionAnnotation: "r1"}
	env.createSource(t, c, configMap(plain, map[string]string{"a": "1"}))
	start := time.Now()
	env.createSource(t, c, source)
	eventually(t, "the first revision", env.states(c, revised, "r1", "Synced", ""))
	timings.record(c.name+": a revision → reported", time.Since(start))
	must(t, "the copy of what is reported", c.hasCopy(source)(t.Context()))

	former, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).Get(t.Context(), revised, metav1.GetOptions{})
	must(t, "get the copy", err)
	env.updateSource(t, c, revised, func(cm *corev1.ConfigMap) { cm.Annotations[revisionAnnotation] = "r2" })
	eventually(t, "a revision with the same content", env.states(c, revised, "r2", "Synced", ""))
	copied, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).Get(t.Context(), revised, metav1.GetOptions{})
	must(t, "get the copy", err)
	if copied.ResourceVersion != former.ResourceVersion || copied.Annotations[revisionAnnotation] != "" {
		t.Errorf("the copy was written for another revision of its content: %v", copied.ObjectMeta)
	}

	c.createForeign(t, configMap(conflict, map[string]string{"owner": "another team"}))
	refused := env.createSource(t, c, configMap(conflict, map[string]string{"owner": "hub"}))
	eventually(t, "the conflict", env.states(c, conflict, "", "Conflict", "is not a copy: delete it there, or hand it over"))
	env.isSilent(t, c)
	env.reportComesBack(t, c, revised)

	object, status, err := env.mirror(t.Context(), c)
	must(t, "get the report", err)
	var names []string
	for _, entry := range status.ConfigMaps {
		names = append(names, entry.Name)
	}
	// What is in sync and has no revision is counted alone.
	if diff := cmp.Diff([]string{revised, conflict}, names); diff != "" || status.Total != status.Synced+1 {
		t.Errorf("the report has one conflict: %+v; its names (-want +got):\n%s", status, diff)
	}
	if owners := object.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "ManagedClusterAddOn" {
		t.Errorf("owners %v", owners)
	}
	must(t, "delete the other object", c.kube.CoreV1().ConfigMaps(c.installNamespace).Delete(t.Context(), conflict, metav1.DeleteOptions{}))
	eventually(t, "the copy in its place", c.hasCopy(refused))
}

// isSilent checks that nobody writes the report while nothing changes.
func (e *environment) isSilent(t *testing.T, c *cluster) {
	t.Helper()
	before, _, err := e.mirror(t.Context(), c)
	must(t, "get the report", err)
	consistently(t, quiet, "the report", func(ctx context.Context) error {
		after, _, err := e.mirror(ctx, c)
		if err == nil && before.GetResourceVersion() != after.GetResourceVersion() {
			err = fmt.Errorf("written though nothing changed:\n%v\n%v", before.Object, after.Object)
		}
		return err
	})
}

// reportComesBack deletes the report. The controller creates it again, and the agent fills it with
// the next change.
func (e *environment) reportComesBack(t *testing.T, c *cluster, revised string) {
	t.Helper()
	former, _, err := e.mirror(t.Context(), c)
	must(t, "get the report", err)
	must(t, "delete the report", e.hub.dynamic.Resource(configMapMirrors).Namespace(c.name).Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	eventually(t, "another object", e.hasMirror(c, former.GetUID()))
	e.updateSource(t, c, revised, func(cm *corev1.ConfigMap) {
		cm.Data["a"], cm.Annotations[revisionAnnotation] = "2", "r3"
	})
	eventually(t, "the report after that", e.states(c, revised, "r3", "Synced", ""))
}

// hasMirror checks that the cluster has a ConfigMapMirror with another UID than the former one.
func (e *environment) hasMirror(c *cluster, former types.UID) check {
	return func(ctx context.Context) error {
		object, _, err := e.mirror(ctx, c)
		if err == nil && object.GetUID() == former {
			err = fmt.Errorf("ConfigMapMirror %s/%s is still the former one", c.name, addonName)
		}
		return err
	}
}

// hasNoMirror checks that the garbage collector has deleted the cluster's ConfigMapMirror.
func (e *environment) hasNoMirror(c *cluster) check {
	return func(ctx context.Context) error {
		_, _, err := e.mirror(ctx, c)
		return gone("ConfigMapMirror", err)
	}
}

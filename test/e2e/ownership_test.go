//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ConfigMap of the same name that the agent did not make stays as it is,
// through the source's whole life. When it goes, the copy takes its place
// without anything happening on the hub.
func foreignIsLeftAlone(t *testing.T, env *environment) {
	c := env.first()
	foreign := c.createForeign(t, configMap("e2e-foreign", map[string]string{"owner": "another team"}))

	source := env.createSource(t, c, configMap(foreign.Name, map[string]string{"owner": "hub"}))
	env.settle(t, c)
	consistently(t, quiet, "the foreign object after the source came", c.untouched(foreign))

	env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) { cm.Data["changed"] = "true" })
	env.settle(t, c)
	consistently(t, quiet, "the foreign object after the source changed", c.untouched(foreign))

	env.deleteSource(t, c, source.Name)
	env.settle(t, c)
	consistently(t, quiet, "the foreign object after the source went", c.untouched(foreign))

	again := env.createSource(t, c, configMap(foreign.Name, map[string]string{"owner": "hub"}))
	env.settle(t, c)
	must(t, "the foreign object after the source came again", c.untouched(foreign)(t.Context()))
	must(t, "delete the foreign object",
		c.kube.CoreV1().ConfigMaps(c.installNamespace).Delete(t.Context(), foreign.Name, metav1.DeleteOptions{}))
	eventually(t, "the copy in the place of the foreign object", c.hasCopy(again))
}

// Its owner may give a foreign object over by an annotation.
func foreignIsAdopted(t *testing.T, env *environment) {
	c := env.first()
	foreign := c.createForeign(t, configMap("e2e-adopted", map[string]string{"owner": "another team"}))
	source := env.createSource(t, c, configMap(foreign.Name, map[string]string{"owner": "hub"}))
	env.settle(t, c)
	must(t, "the foreign object before it is given over", c.untouched(foreign)(t.Context()))

	c.annotateCopy(t, foreign.Name, adoptAnnotation, "true")
	eventually(t, "the copy once the object is given over", c.hasCopy(source))
}

// A copy that was changed or deleted on the cluster is restored, without a change on
// the hub.
func driftComesBack(t *testing.T, env *environment) {
	c := env.first()
	source := env.createSource(t, c, configMap("e2e-drift", map[string]string{"a": "1"}))
	eventually(t, "the copy", c.hasCopy(source))
	written, err := c.copyOf(t.Context(), source.Name)
	must(t, "get the copy", err)

	_, err = update(t.Context(), c.apiServer, c.installNamespace, source.Name, func(cm *corev1.ConfigMap) {
		cm.Data = map[string]string{"a": "changed by hand", "more": "keys"}
	})
	must(t, "change the copy", err)
	eventually(t, "a changed copy comes back", c.hasCopy(source))

	must(t, "delete the copy",
		c.kube.CoreV1().ConfigMaps(c.installNamespace).Delete(t.Context(), source.Name, metav1.DeleteOptions{}))
	eventually(t, "a deleted copy comes back", func(ctx context.Context) error {
		now, err := c.copyOf(ctx, source.Name)
		if err != nil {
			return err
		}
		if now.UID == written.UID {
			return errors.New("the copy is still the one that was deleted")
		}
		return c.hasCopy(source)(ctx)
	})
}

// What other people put on a copy's metadata is theirs: a change of the
// source does not wipe it out, and it is no drift that is fought over.
func othersMetadataStays(t *testing.T, env *environment) {
	const key = "example.com/team"
	c := env.first()
	source := env.createSource(t, c, configMap("e2e-metadata", map[string]string{"a": "1"}))
	eventually(t, "the copy", c.hasCopy(source))

	labelled, err := update(t.Context(), c.apiServer, c.installNamespace, source.Name, func(cm *corev1.ConfigMap) {
		cm.Labels = with(cm.Labels, key, "blue")
		cm.Annotations = with(cm.Annotations, key, "blue")
	})
	must(t, "label and annotate the copy", err)
	env.settle(t, c)
	consistently(t, quiet, "the labelled copy", c.untouched(labelled))

	source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) { cm.Data["a"] = "2" })
	eventually(t, "the changed copy", c.hasCopy(source))
	now, err := c.copyOf(t.Context(), source.Name)
	must(t, "get the copy", err)
	if now.Labels[key] != "blue" || now.Annotations[key] != "blue" {
		t.Errorf("a change of the source took away others' metadata: labels %v, annotations %v", now.Labels, now.Annotations)
	}
}

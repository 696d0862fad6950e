//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The opt-out label withdraws a copy, and its removal brings it back.
func optOut(t *testing.T, env *environment) {
	c := env.first()
	never := configMap("e2e-never", map[string]string{"secret": "of the hub"})
	never.Labels[syncLabel] = syncDisabled
	env.createSource(t, c, never)
	source := env.createSource(t, c, configMap("e2e-opt-out", map[string]string{"a": "1"}))
	eventually(t, "the copy", c.hasCopy(source))

	env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) { cm.Labels[syncLabel] = syncDisabled })
	eventually(t, "the copy goes with the label", c.hasNoCopy(source.Name))
	env.settle(t, c)
	consistently(t, quiet, "what is opted out is not copied", c.hasNoCopy(never.Name))

	source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) { delete(cm.Labels, syncLabel) })
	eventually(t, "the copy comes back without the label", c.hasCopy(source))
}

// Every namespace has a bundle of its cluster's certificate authorities; a
// copy of the hub's would cut the cluster's pods off from their API server. It
// is not even to be had by giving it over.
func rootCAIsUntouched(t *testing.T, env *environment) {
	for _, c := range env.clusters {
		before := c.ownRootCA(t)
		env.touchRootCA(t, c)
		env.settle(t, c)
		consistently(t, quiet, c.name+": the cluster's bundle", c.untouched(before))
	}

	c := env.first()
	c.annotateCopy(t, rootCAConfigMap, adoptAnnotation, "true")
	cleanup(t, "annotation of the cluster's bundle", func(ctx context.Context) error {
		return unannotate(ctx, c.apiServer, c.installNamespace, adoptAnnotation)
	})
	before := c.ownRootCA(t)
	env.touchRootCA(t, c)
	env.settle(t, c)
	consistently(t, quiet, c.name+": the cluster's bundle, given over", c.untouched(before))
}

// ownRootCA is the bundle in the install namespace; the test fails when it is
// not the cluster's own, the one that kube-system has.
func (c *cluster) ownRootCA(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	found, err := c.copyOf(t.Context(), rootCAConfigMap)
	must(t, "get "+rootCAConfigMap+" of "+c.name, err)
	own, err := c.kube.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), rootCAConfigMap, metav1.GetOptions{})
	must(t, "get "+rootCAConfigMap+" of kube-system", err)
	if diff := contentDiff(own, found); diff != "" {
		t.Errorf("%s: the bundle is not the cluster's own any more (-own +found):\n%s", c.name, diff)
	}
	return found
}

// touchRootCA changes the hub's bundle, so that the agent has reason to look
// at it.
func (e *environment) touchRootCA(t *testing.T, c *cluster) {
	t.Helper()
	e.updateSource(t, c, rootCAConfigMap, func(cm *corev1.ConfigMap) {
		cm.Annotations = with(cm.Annotations, suiteLabel, time.Now().String())
	})
	cleanup(t, "annotation of the hub's bundle", func(ctx context.Context) error {
		return unannotate(ctx, e.hub.apiServer, c.name, suiteLabel)
	})
}

func unannotate(ctx context.Context, api apiServer, namespace, key string) error {
	_, err := update(ctx, api, namespace, rootCAConfigMap, func(cm *corev1.ConfigMap) {
		delete(cm.Annotations, key)
	})
	return err
}

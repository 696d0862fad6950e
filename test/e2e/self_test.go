//go:build e2e && self

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSelfManaged runs on an environment of one cluster, which is the hub
// itself. It can run beside TestScenarios on other clusters of the hub.
func TestSelfManaged(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 1)
	if err != nil {
		t.Fatal(err)
	}
	env.requireReady(t)
	env.removeLeftovers(t)
	c := env.first()
	requireSelf(t, env, c)
	for _, s := range []scenario{
		{"its_ConfigMaps_are_copied_to_another_namespace", selfInTwoNamespaces},
		{"the_cluster's_own_namespace_is_refused", selfInOneNamespace},
	} {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error { return env.restore(ctx, c) })
			start := time.Now()
			s.run(t, env)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// A hub that manages itself is a cluster like any other.
func selfInTwoNamespaces(t *testing.T, env *environment) {
	c := env.first()
	c.installNamespace = ownNamespace
	reach(t, env.startEnabling(t, c, "self", env.enableV1alpha1))
	for _, s := range []scenario{
		{"copy", copyUpdateDelete}, {"drift", driftComesBack}, {"root CA", rootCAIsUntouched},
		{"conflict", foreignIsLeftAlone}, {"adoption", foreignIsAdopted}, {"uninstall", selfUninstalled},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, env) })
	}
}

// selfUninstalled: the copies go, their sources in the same cluster stay.
func selfUninstalled(t *testing.T, env *environment) {
	c := env.first()
	source := env.createSource(t, c, configMap("e2e-self-uninstalled", map[string]string{"a": "1"}))
	eventually(t, "the copy", c.hasCopy(source))
	must(t, "disable the add-on", env.disable(t.Context(), c))
	must(t, "the copy is gone", c.hasNoCopy(source.Name)(t.Context()))
	now, err := env.hub.kube.CoreV1().ConfigMaps(c.name).Get(t.Context(), source.Name, metav1.GetOptions{})
	must(t, "the source is still there", err)
	if now.ResourceVersion != source.ResourceVersion {
		t.Errorf("the source was written: %v", now)
	}
}

// An install namespace with the cluster's own name is refused
// (docs/design.md#rule-8-own-namespace): here each ConfigMap would be its own copy.
// The add-on's conditions name the field to change, nothing is shipped, no ConfigMap
// is written, and disabling the add-on takes nothing away.
func selfInOneNamespace(t *testing.T, env *environment) {
	c := env.first()
	c.installNamespace = c.name
	objects := c.kube.CoreV1().ConfigMaps(c.name)
	mine, err := objects.Create(t.Context(), configMap("e2e-self", map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, "create a ConfigMap", err)
	cleanup(t, "delete it", func(ctx context.Context) error {
		return ignoreNotFound(objects.Delete(ctx, mine.Name, metav1.DeleteOptions{}))
	})
	rootCA, err := objects.Get(t.Context(), rootCAConfigMap, metav1.GetOptions{})
	must(t, "get "+rootCAConfigMap, err)
	untouched := func(ctx context.Context) error {
		return errors.Join(c.untouched(mine)(ctx), c.untouched(rootCA)(ctx))
	}

	must(t, "enable the add-on", env.enableV1alpha1(t.Context(), c))
	eventually(t, "the add-on says what to do", env.refuses(t, c, c.name+"/"+addonName, "spec.installNamespace", "name another namespace"))
	consistently(t, quiet, "nothing is shipped and no ConfigMap is written", func(ctx context.Context) error {
		works, err := env.deployWorks(ctx, c)
		if err != nil {
			return err
		}
		if len(works) > 0 {
			return fmt.Errorf("ManifestWork %s is there", works[0].Name)
		}
		return errors.Join(c.agentGone(ctx), untouched(ctx))
	})

	start := time.Now()
	must(t, "disable the add-on", env.disable(t.Context(), c))
	timings.record(c.name+": uninstall of a refused add-on", time.Since(start))
	must(t, "every ConfigMap is still there, as it was", untouched(t.Context()))
}

// requireSelf fails the test where the cluster is not the hub: a namespace has
// one UID.
func requireSelf(t *testing.T, env *environment, c *cluster) {
	t.Helper()
	uid := func(api apiServer) string {
		namespace, err := api.kube.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		must(t, "get a namespace", err)
		return string(namespace.UID)
	}
	if uid(env.hub.apiServer) != uid(c.apiServer) {
		t.Fatalf("%s is not the hub itself", c.name)
	}
}

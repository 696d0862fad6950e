//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const releaseAnnotation = "helloworld.open-cluster-management.io/release-deletions"

// When a list of the hub's ConfigMaps lacks the sources of most copies, for example
// because the hub was restored from a backup, no copy is deleted at once
// (docs/design.md#rule-10-removals). A source that comes back keeps its copy; the
// other copies are deleted when a user releases them. Here the agent does not run
// while the ConfigMaps are deleted, so that it learns of that only by its list.
func massDeletionIsHeld(t *testing.T, env *environment) {
	c := env.first()
	copies, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(t.Context(),
		metav1.ListOptions{LabelSelector: managedByLabel + "=" + managedByValue})
	must(t, "list the copies", err)
	var sources []*corev1.ConfigMap
	// More than half of all copies are these.
	for i := range len(copies.Items) + 4 {
		sources = append(sources, env.createSource(t, c, configMap(fmt.Sprintf("e2e-brake-%03d", i), map[string]string{"a": "1"})))
	}
	before := map[string]types.UID{}
	for _, source := range sources {
		eventually(t, "the copy of "+source.Name, c.hasCopy(source))
		found, err := c.copyOf(t.Context(), source.Name)
		must(t, "get the copy", err)
		before[source.Name] = found.UID
	}

	cleanup(t, "end the hold", func(ctx context.Context) error {
		if !t.Failed() {
			return nil
		}
		return env.endHold(ctx, c, sources)
	})
	allowPods := c.cordon(t)
	c.deleteAgentPods(t)
	for _, source := range sources {
		env.deleteSource(t, c, source.Name)
	}
	must(t, "accept pods again", allowPods(t.Context()))
	eventually(t, "the deletions are held", env.reports(c, metav1.ConditionFalse, "DeletionHeld",
		fmt.Sprintf("; deletion of %d copies held until ", len(sources))))
	eventually(t, "the condition names them", env.reports(c, metav1.ConditionFalse, "DeletionHeld",
		releaseAnnotation+"=true): "+sources[0].Name+", "+sources[1].Name))
	consistently(t, quiet, "no copy is deleted", c.haveUIDs(before))
	env.settle(t, c)

	restored := env.createSource(t, c, configMap(sources[0].Name, map[string]string{"a": "restored"}))
	eventually(t, "a source that comes back is copied", c.hasCopy(restored))
	eventually(t, "the others are held", env.reports(c, metav1.ConditionFalse, "DeletionHeld",
		fmt.Sprintf("; deletion of %d copies held until ", len(sources)-1)))
	must(t, "no copy was deleted", c.haveUIDs(before)(t.Context()))

	must(t, "release the deletions", env.setRelease(t.Context(), c, `"true"`))
	cleanup(t, "take the release back", func(ctx context.Context) error { return env.setRelease(ctx, c, "null") })
	for _, source := range sources[1:] {
		eventually(t, "the copy of "+source.Name+" gone", c.hasNoCopy(source.Name))
	}
	eventually(t, "all is well", env.reports(c, metav1.ConditionTrue, "Synced", "ConfigMaps synced"))
	must(t, "the copy of what came back", c.haveUIDs(map[string]types.UID{restored.Name: before[restored.Name]})(t.Context()))
}

// endHold deletes what is left of the sources, and the copies that are held.
func (e *environment) endHold(ctx context.Context, c *cluster, sources []*corev1.ConfigMap) error {
	errs := []error{e.setRelease(ctx, c, `"true"`)}
	for _, source := range sources {
		errs = append(errs, ignoreNotFound(e.hub.kube.CoreV1().ConfigMaps(c.name).Delete(ctx, source.Name, metav1.DeleteOptions{})))
	}
	errs = append(errs, poll(ctx, deadline, func(ctx context.Context) error {
		var left []error
		for _, source := range sources {
			left = append(left, c.hasNoCopy(source.Name)(ctx))
		}
		return errors.Join(left...)
	}))
	return errors.Join(append(errs, e.setRelease(ctx, c, "null"))...)
}

// haveUIDs checks that these copies are there, and were never deleted.
func (c *cluster) haveUIDs(want map[string]types.UID) check {
	return func(ctx context.Context) error {
		got := map[string]types.UID{}
		var errs []error
		for name := range want {
			found, err := c.copyOf(ctx, name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			got[name] = found.UID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			errs = append(errs, fmt.Errorf("the copies differ (-before +now):\n%s", diff))
		}
		return errors.Join(errs...)
	}
}

// setRelease sets the annotation that releases held deletions to a JSON value.
func (e *environment) setRelease(ctx context.Context, c *cluster, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, releaseAnnotation, value)
	_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Patch(ctx, addonName, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreNotFound(err)
}

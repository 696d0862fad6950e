//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const syncedCondition = "ConfigMapsSynced"

// reports checks the condition by which the agent reports: status, reason, and
// what the message has in it.
func (e *environment) reports(c *cluster, status metav1.ConditionStatus, reason, message string) check {
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(addOn.Status.Conditions, syncedCondition)
		if found == nil || found.Status != status || found.Reason != reason || !strings.Contains(found.Message, message) {
			return fmt.Errorf("want %s=%s/%s with %q; conditions: %s",
				syncedCondition, status, reason, message, conditionLine(addOn.Status.Conditions))
		}
		return nil
	}
}

// refuses checks that a condition of the add-on is False with a message that has
// all these texts.
func (e *environment) refuses(t *testing.T, c *cluster, texts ...string) check {
	return func(ctx context.Context) error {
		addOn, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range addOn.Status.Conditions {
			if condition.Status == metav1.ConditionFalse && containsAll(condition.Message, texts) {
				t.Logf("%s: %s=%s/%s: %s", c.name, condition.Type, condition.Status, condition.Reason, condition.Message)
				return nil
			}
		}
		return fmt.Errorf("no condition is False with %q: %s", texts, conditionLine(addOn.Status.Conditions))
	}
}

func containsAll(message string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(message, text) {
			return false
		}
	}
	return true
}

// hasEvent checks that there is a warning on this very object on the hub.
func (e *environment) hasEvent(source *corev1.ConfigMap, reason string) check {
	return func(ctx context.Context) error {
		events, err := e.hub.kube.CoreV1().Events(source.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=ConfigMap,involvedObject.uid=" + string(source.UID)})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if events.Items[i].Type == corev1.EventTypeWarning && events.Items[i].Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("no warning %s among %d events on ConfigMap %s", reason, len(events.Items), source.Name)
	}
}

// A conflict with a ConfigMap of another owner is reported on the hub by name, as a
// condition and as an event. The condition recovers as soon as one such ConfigMap
// is handed over to the agent and another one is deleted.
func conflictIsReported(t *testing.T, env *environment) {
	c := env.first()
	eventually(t, "all is well", env.reports(c, metav1.ConditionTrue, "Synced", "ConfigMaps synced"))
	var sources []*corev1.ConfigMap
	for _, name := range []string{"e2e-conflict-adopted", "e2e-conflict-deleted"} {
		c.createForeign(t, configMap(name, map[string]string{"owner": "another team"}))
		sources = append(sources, env.createSource(t, c, configMap(name, map[string]string{"owner": "hub"})))
	}
	eventually(t, "the conflicts", env.reports(c, metav1.ConditionFalse, "Conflict",
		"; conflict: e2e-conflict-adopted, e2e-conflict-deleted"))
	eventually(t, "the event", env.hasEvent(sources[0], "CopyConflict"))

	c.annotateCopy(t, sources[0].Name, adoptAnnotation, "true")
	eventually(t, "the copy once the object is given over", c.hasCopy(sources[0]))
	eventually(t, "the other conflict", env.reports(c, metav1.ConditionFalse, "Conflict", "; conflict: e2e-conflict-deleted"))
	must(t, "delete the other object",
		c.kube.CoreV1().ConfigMaps(c.installNamespace).Delete(t.Context(), sources[1].Name, metav1.DeleteOptions{}))
	eventually(t, "the other copy", c.hasCopy(sources[1]))
	eventually(t, "all is well again", env.reports(c, metav1.ConditionTrue, "Synced", "ConfigMaps synced"))
}

// What the API allows at most is copied like anything else: a name of 253
// characters, and 1 MiB of data.
func limitsAreCopied(t *testing.T, env *environment) {
	c := env.first()
	const key, most = "k", 1 << 20
	source := env.createSource(t, c, configMap("e2e-"+strings.Repeat("x", 253-len("e2e-")),
		map[string]string{key: strings.Repeat("v", most-len(key))}))
	eventually(t, "the copy", c.hasCopy(source))
	source = env.updateSource(t, c, source.Name, func(cm *corev1.ConfigMap) {
		cm.Data = nil
		cm.BinaryData = map[string][]byte{key: make([]byte, most-len(key))}
	})
	eventually(t, "the changed copy", c.hasCopy(source))
}

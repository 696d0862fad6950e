package syncer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// recordWrite counts that another writer keeps undoing the writes to a key's
// objects. The first time it logs the writer and records an event.
func (k *kindSyncer) recordWrite(ctx context.Context, key status.Key, owner plan.Object, actions []plan.Action) {
	contested, detected := k.queue.wrote(key)
	if contested {
		failures.WithLabelValues(string(key.Kind), reasonContested).Inc()
	}
	if !detected {
		return
	}
	about := []any{"id", key.ID, "namespace", owner.Namespace, "name", owner.Name}
	if fought := slices.IndexFunc(actions, func(a plan.Action) bool { return a.Present.Content != nil }); fought >= 0 {
		managers := k.rivals(actions[fought].Present)
		about = append(about, "managers", managers)
		k.event(actions[fought].Present, "StatusContested", fmt.Sprintf("%s changes the status that %s writes, which then waits up to %s before it writes again",
			cmp.Or(strings.Join(managers, ", "), "another writer"), Program, plan.MaxRetry))
	}
	if key.Kind == status.KindPolicy {
		about = append(about, "check", propagatorCommand, "image", propagatorImage)
	}
	klog.FromContext(ctx).Info("Another writer keeps changing the status; backing off, except when rows change", about...)
}

// rivals returns the managers that wrote the same part of an object before this
// sync, the last one first.
func (k *kindSyncer) rivals(present plan.Present) []string {
	part := ""
	if k.entry.Subresource {
		part = "status"
	}
	content := unstructured.Unstructured{Object: present.Content}
	return plan.OtherManagers(content.GetManagedFields(), string(fieldOwner), part)
}

// event records a warning about an object.
func (k *kindSyncer) event(about plan.Present, reason, note string) {
	regarding := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: about.Namespace, Name: about.Name, UID: about.UID, ResourceVersion: about.ResourceVersion}}
	regarding.SetGroupVersionKind(k.entry.Object)
	k.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, reason, "SyncStatus", "%s", note)
}

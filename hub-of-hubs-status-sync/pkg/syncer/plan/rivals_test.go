package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWritesStatus(t *testing.T) {
	const repository = "quay.io/open-cluster-management-hub-of-hubs/governance-policy-propagator"
	for _, c := range []struct {
		name     string
		replicas *int32
		images   []string
		want     bool
	}{
		{"the image of the hub of hubs", nil, []string{repository + ":no_status_update"}, false},
		{"the same with its digest", nil, []string{repository + ":no_status_update@sha256:1"}, false},
		{"beside another container", ptr.To[int32](1), []string{"quay.io/proxy:v1", repository + ":no_status_update"}, false},
		{"OCM's own", ptr.To[int32](1), []string{"quay.io/open-cluster-management/governance-policy-propagator:v0.16.0"}, true},
		{"without a tag, by a registry with a port", nil, []string{"localhost:5000/governance-policy-propagator"}, true},
		{"by its digest alone", nil, []string{repository + "@sha256:1"}, true},
		{"a registry of that name", nil, []string{"host:no_status_update/propagator"}, true},
		{"a tag that begins alike", nil, []string{repository + ":no_status_updates"}, true},
		{"stopped", ptr.To[int32](0), []string{"quay.io/open-cluster-management/governance-policy-propagator:v0.16.0"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			propagator := appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: c.replicas}}
			for _, image := range c.images {
				propagator.Spec.Template.Spec.Containers = append(propagator.Spec.Template.Spec.Containers, corev1.Container{Image: image})
			}
			if got := WritesStatus(propagator); got != c.want {
				t.Errorf("it writes: %t, want %t", got, c.want)
			}
		})
	}
}

func TestOtherManagers(t *testing.T) {
	entry := func(manager, subresource string, seconds int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: ptr.To(metav1.Unix(seconds, 0))}
	}
	timeless := metav1.ManagedFieldsEntry{Manager: "timeless", Subresource: "status"}
	for _, c := range []struct {
		name        string
		entries     []metav1.ManagedFieldsEntry
		subresource string
		want        []string
	}{
		{"no record", nil, "status", nil},
		{"only this program", []metav1.ManagedFieldsEntry{entry("own", "status", 1)}, "status", nil},
		{"the newest first", []metav1.ManagedFieldsEntry{entry("old", "status", 1), entry("own", "status", 3), entry("new", "status", 2)}, "status",
			[]string{"new", "old"}},
		{"a writer of the spec is no rival", []metav1.ManagedFieldsEntry{entry("kubectl", "", 5), entry("new", "status", 2)}, "status", []string{"new"}},
		{"a kind without a status subresource", []metav1.ManagedFieldsEntry{entry("kubectl", "", 5), entry("new", "status", 2)}, "", []string{"kubectl"}},
		{"one manager that updated and applied", []metav1.ManagedFieldsEntry{entry("new", "status", 1), entry("new", "status", 2)}, "status", []string{"new"}},
		{"a record without a time is the oldest", []metav1.ManagedFieldsEntry{timeless, entry("new", "status", 2)}, "status", []string{"new", "timeless"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, OtherManagers(c.entries, "own", c.subresource)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

package plan

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoStatusTag is the tag of the policy propagator's image that writes no status
// (https://github.com/open-cluster-management/hub-of-hubs-status-sync#readme).
const NoStatusTag = "no_status_update"

// WritesStatus reports whether a policy propagator writes the status of policies:
// it runs, and none of its images has the tag NoStatusTag. An image that is named
// by its digest alone counts as one that writes.
func WritesStatus(propagator appsv1.Deployment) bool {
	if replicas := propagator.Spec.Replicas; replicas != nil && *replicas == 0 {
		return false
	}
	return !slices.ContainsFunc(Images(propagator), func(image string) bool { return tagOf(image) == NoStatusTag })
}

// Images returns the images of a Deployment's containers.
func Images(deployment appsv1.Deployment) []string {
	var images []string
	for _, container := range deployment.Spec.Template.Spec.Containers {
		images = append(images, container.Image)
	}
	return images
}

// tagOf returns the tag of an image, empty if it has none. A registry may have a
// port: "localhost:5000/propagator" has no tag.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[colon+1:]
	}
	return ""
}

// OtherManagers returns the managers, other than own, that wrote a subresource of
// an object, by its managed fields; the one with the newest write is first. An
// empty subresource is the object itself. A manager whose every field another one
// wrote since is not recorded
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
func OtherManagers(entries []metav1.ManagedFieldsEntry, own, subresource string) []string {
	at := func(entry metav1.ManagedFieldsEntry) time.Time {
		if entry.Time == nil {
			return time.Time{}
		}
		return entry.Time.Time
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { return at(b).Compare(at(a)) })
	var managers []string
	for _, entry := range entries {
		if entry.Manager != own && entry.Subresource == subresource && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

package plan

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// errRunsAsRoot is the error of runAsNonRoot with user 0.
var errRunsAsRoot = errors.New("container has runAsNonRoot and would run as root; set runAsUser to another user than 0")

// Identity is the user and the groups of a container's process.
type Identity struct {
	UID, GID int64
	// Groups are the supplementary groups, sorted.
	Groups []int64
}

// IdentityOf returns the identity of a container. The container's security context
// overrides the pod's, which overrides the image's. As in container runtimes, a user
// set by the pod has group 0 unless the pod sets the group too.
func IdentityOf(pod *corev1.PodSpec, c corev1.Container, image Image) (Identity, error) {
	id := Identity{UID: image.UID, GID: image.GID}
	podContext, context := pod.SecurityContext, c.SecurityContext
	if podContext == nil {
		podContext = &corev1.PodSecurityContext{}
	}
	if context == nil {
		context = &corev1.SecurityContext{}
	}
	if user := first(context.RunAsUser, podContext.RunAsUser); user != nil {
		if *user != image.UID {
			id.GID = 0
		}
		id.UID = *user
	}
	if group := first(context.RunAsGroup, podContext.RunAsGroup); group != nil {
		id.GID = *group
	}
	id.Groups = append(id.Groups, podContext.SupplementalGroups...)
	if podContext.FSGroup != nil {
		id.Groups = append(id.Groups, *podContext.FSGroup)
	}
	slices.Sort(id.Groups)
	id.Groups = slices.Compact(id.Groups)
	if yes(first(context.RunAsNonRoot, podContext.RunAsNonRoot)) && id.UID == 0 {
		return Identity{}, errRunsAsRoot
	}
	return id, nil
}

// fileOwner returns the owner of the pod's service account tokens: the user of its
// containers if the pod sets the same one for all of them, otherwise nil.
func fileOwner(pod *corev1.PodSpec) *int64 {
	var owner *int64
	for i, c := range Containers(pod) {
		var user *int64
		if pod.SecurityContext != nil {
			user = pod.SecurityContext.RunAsUser
		}
		if c.SecurityContext != nil {
			user = first(c.SecurityContext.RunAsUser, user)
		}
		if user == nil || (i > 0 && *user != *owner) {
			return nil
		}
		owner = user
	}
	return owner
}

// FSGroup returns the group of the pod's volumes, nil if the pod sets none.
func FSGroup(pod *corev1.PodSpec) *int64 {
	if pod.SecurityContext == nil {
		return nil
	}
	return pod.SecurityContext.FSGroup
}

// ReadOnlyRoot reports whether the container's root is read-only.
func ReadOnlyRoot(c corev1.Container) bool {
	return c.SecurityContext != nil && yes(c.SecurityContext.ReadOnlyRootFilesystem)
}

// first returns the first value that is not nil.
func first[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

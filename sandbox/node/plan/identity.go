package plan

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// errRunsAsRoot is kubelet's refusal of runAsNonRoot with user 0.
var errRunsAsRoot = errors.New("container has runAsNonRoot and would run as root; set runAsUser to another user than 0")

// Identity is whom a container's process runs as.
type Identity struct {
	UID, GID int64
	// Groups are the supplementary groups, sorted.
	Groups []int64
}

// IdentityOf is the user of a container: the container's security context comes
// before the pod's, and both before the image's. A user that the pod chooses has
// group 0 unless the pod chooses that too, as with a container runtime.
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

// fileOwner is who owns the pod's service account tokens, which others cannot
// read: the one user of all its containers, or nobody in particular (nil).
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

// FSGroup is the group that owns the pod's volumes, nil when none is asked for.
func FSGroup(pod *corev1.PodSpec) *int64 {
	if pod.SecurityContext == nil {
		return nil
	}
	return pod.SecurityContext.FSGroup
}

// ReadOnlyRoot says whether the container must not write to its root.
func ReadOnlyRoot(c corev1.Container) bool {
	return c.SecurityContext != nil && yes(c.SecurityContext.ReadOnlyRootFilesystem)
}

// first is the first value that is set.
func first[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

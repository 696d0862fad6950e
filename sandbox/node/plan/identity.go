package plan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/user"
	corev1 "k8s.io/api/core/v1"
)

// errRunsAsRoot is the error of runAsNonRoot with user 0.
var errRunsAsRoot = errors.New("container has runAsNonRoot and would run as root; set runAsUser to another user than 0")

// Identity is the user and the groups of a container's process.
type Identity struct {
	UID, GID int64
	// Groups are the supplementary groups, sorted.
	Groups []int64
	// Home is the user's home directory in the image, empty if the image does not know
	// the user.
	Home string
}

// IdentityOf returns the identity of a container. The container's security context
// overrides the pod's, which overrides the image's. As in container runtimes, the group
// of a user set by the pod is the one in the image's /etc/passwd, by default 0, unless the
// pod sets the group too.
func IdentityOf(pod *corev1.PodSpec, c corev1.Container, image Image) (Identity, error) {
	podContext, context := pod.SecurityContext, c.SecurityContext
	if podContext == nil {
		podContext = &corev1.PodSecurityContext{}
	}
	if context == nil {
		context = &corev1.SecurityContext{}
	}
	name, byPod := image.User, first(context.RunAsUser, podContext.RunAsUser)
	if imageUser, _, _ := strings.Cut(name, ":"); byPod != nil && strconv.FormatInt(*byPod, 10) != imageUser {
		name = strconv.FormatInt(*byPod, 10)
	}
	found, err := user.GetExecUser(name, nil, bytes.NewReader(image.Passwd), bytes.NewReader(image.Group))
	if err != nil {
		return Identity{}, fmt.Errorf("look up user %q in the image's /etc/passwd and /etc/group: %w", name, err)
	}
	id := Identity{UID: int64(found.Uid), GID: int64(found.Gid), Home: found.Home}
	if group := first(context.RunAsGroup, podContext.RunAsGroup); group != nil {
		id.GID = *group
	}
	if yes(first(context.RunAsNonRoot, podContext.RunAsNonRoot)) {
		if err := verifyNonRoot(id, name); err != nil {
			return Identity{}, err
		}
	}
	id.Groups = groupsOf(podContext, found.Sgids)
	return id, nil
}

// verifyNonRoot returns the error of a container that has to run as another user than
// root. As in kubelet, the name of a user is not enough, since the image maps it to an id.
func verifyNonRoot(id Identity, name string) error {
	name, _, _ = strings.Cut(name, ":")
	if id.UID == 0 {
		return errRunsAsRoot
	}
	if _, err := strconv.Atoi(name); err != nil {
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root; set runAsUser", name)
	}
	return nil
}

// groupsOf returns the supplementary groups: those of the pod and, unless the policy is
// Strict, those of the user in the image's /etc/group:
// https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#supplementalgroupspolicy
func groupsOf(pod *corev1.PodSecurityContext, inImage []int) []int64 {
	groups := slices.Clone(pod.SupplementalGroups)
	if pod.FSGroup != nil {
		groups = append(groups, *pod.FSGroup)
	}
	if pod.SupplementalGroupsPolicy == nil || *pod.SupplementalGroupsPolicy != corev1.SupplementalGroupsPolicyStrict {
		for _, group := range inImage {
			groups = append(groups, int64(group))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// fileOwner returns the owner of the pod's service account tokens: the user of its
// containers if the pod sets the same one for all of them, otherwise nil. As in kubelet,
// ephemeral containers do not count, so that they never change the files of a running pod:
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/util/util.go
func fileOwner(pod *corev1.PodSpec) *int64 {
	var owner *int64
	for i, c := range slices.Concat(pod.InitContainers, pod.Containers) {
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

package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MissingImage returns the waiting reason and the error of a container whose image is
// not in the sandbox. As in kubelet, the pull policy Never has a reason of its own:
// https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy. The
// policies Always and IfNotPresent are the same, as there is no registry.
func MissingImage(c corev1.Container, known []string) (reason string, err error) {
	list := strings.Join(known, ", ")
	if list == "" {
		list = "none"
	}
	err = fmt.Errorf("image %q is not known to the sandbox; known: %s; add it with \"ocm-sandbox image %s=DIRECTORY\", then the container starts",
		c.Image, list, c.Image)
	if c.ImagePullPolicy == corev1.PullNever {
		return ReasonErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never: %w", c.Image, err)
	}
	return ReasonErrImagePull, err
}

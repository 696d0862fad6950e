package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// MissingImage returns the waiting reason and the error, on one line, of a container whose image is
// not in the sandbox. known are the names of the images that are, and similar is the one that
// is most likely meant, if any. As in kubelet, the pull policy Never has a reason of its own:
// https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy. The
// policies Always and IfNotPresent are the same, as there is no registry.
func MissingImage(c corev1.Container, known []string, similar string) (reason string, err error) {
	list := strings.Join(known, ", ")
	if list == "" {
		list = "none"
	}
	hint := ""
	if similar != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", similar)
	}
	err = fmt.Errorf("image %[1]q %[4]s%[2]s; known: %[3]s; add it with \"ocm-sandbox image go %[1]s PACKAGE\" "+
		"(or image load, image pull, image %[1]s=DIRECTORY; in a Go test: the option Image of sandboxtest), then the container starts", c.Image, hint, list, images.Unknown)
	if c.ImagePullPolicy == corev1.PullNever {
		return ReasonErrImageNeverPull, fmt.Errorf("container image %q is not present with pull policy of Never: %w", c.Image, err)
	}
	return ReasonErrImagePull, err
}

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestMissingImage(t *testing.T) {
	const add = `; add it with "ocm-sandbox image go app:v2 PACKAGE" ` +
		`(or image load, image pull, image app:v2=DIRECTORY; in a Go test: the option Image of sandboxtest), then the container starts`
	const message = `image "app:v2" is not known to the sandbox (did you mean app:v1?); known: app:v1, tool` + add
	const never = `container image "app:v2" is not present with pull policy of Never: `
	for _, test := range []struct {
		name    string
		policy  corev1.PullPolicy
		known   []string
		similar string
		want    [2]string
	}{
		{"always pulled", corev1.PullAlways, []string{"app:v1", "tool"}, "app:v1", [2]string{ReasonErrImagePull, message}},
		{"pulled as it is not there", corev1.PullIfNotPresent, []string{"app:v1", "tool"}, "app:v1", [2]string{ReasonErrImagePull, message}},
		{"never pulled: its own reason", corev1.PullNever, []string{"app:v1", "tool"}, "app:v1", [2]string{ReasonErrImageNeverPull, never + message}},
		{"no similar image", corev1.PullAlways, []string{"tool"}, "", [2]string{ReasonErrImagePull, `image "app:v2" is not known to the sandbox; known: tool` + add}},
		{"no image at all", corev1.PullAlways, nil, "", [2]string{ReasonErrImagePull, `image "app:v2" is not known to the sandbox; known: none` + add}},
	} {
		reason, err := MissingImage(corev1.Container{Image: "app:v2", ImagePullPolicy: test.policy}, test.known, test.similar)
		if diff := cmp.Diff(test.want, [2]string{reason, err.Error()}); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

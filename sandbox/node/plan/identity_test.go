package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestIdentity(t *testing.T) {
	id := ptr.To[int64]
	nonRoot := &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
	for _, c := range []struct {
		name, user string // user is the image's, 65532:65532 by default
		pod        *corev1.PodSecurityContext
		own        *corev1.SecurityContext
		want       Identity
		err        string
	}{
		{name: "the image's, if the pod sets nothing", want: Identity{UID: 65532, GID: 65532, Home: "/home/nonroot"}},
		{name: "the pod's; fsGroup is one of the groups",
			pod:  &corev1.PodSecurityContext{RunAsUser: id(5), RunAsGroup: id(6), FSGroup: id(7), SupplementalGroups: []int64{9, 7}},
			want: Identity{UID: 5, GID: 6, Groups: []int64{7, 9}}},
		{name: "the container's before the pod's", pod: &corev1.PodSecurityContext{RunAsUser: id(5), RunAsGroup: id(6)},
			own: &corev1.SecurityContext{RunAsUser: id(8)}, want: Identity{UID: 8, GID: 6}},
		{name: "another user than the image's has group 0", own: &corev1.SecurityContext{RunAsUser: id(8)}, want: Identity{UID: 8}},
		{name: "another user has the group of /etc/passwd", own: &corev1.SecurityContext{RunAsUser: id(1000)},
			want: Identity{UID: 1000, GID: 100, Groups: []int64{44, 45}, Home: "/home/app"}},
		{name: "the image's user keeps the image's group", user: "8:9", own: &corev1.SecurityContext{RunAsUser: id(8)}, want: Identity{UID: 8, GID: 9}},
		{name: "no user is root", user: "-", want: Identity{Home: "/root"}},
		{name: "a user by name", user: "app", want: Identity{UID: 1000, GID: 100, Groups: []int64{44, 45}, Home: "/home/app"}},
		{name: "a group by name", user: "app:video", want: Identity{UID: 1000, GID: 44, Home: "/home/app"}},
		{name: "an id that /etc/passwd does not have", user: "77", want: Identity{UID: 77}},
		{name: "the pod's groups alone", user: "app", pod: &corev1.PodSecurityContext{SupplementalGroups: []int64{9},
			SupplementalGroupsPolicy: ptr.To(corev1.SupplementalGroupsPolicyStrict)}, want: Identity{UID: 1000, GID: 100, Groups: []int64{9}, Home: "/home/app"}},
		{name: "a name that /etc/passwd does not have", user: "other", err: `look up user "other" in the image's /etc/passwd`},
		{name: "a group that /etc/group does not have", user: "app:other", err: `look up user "app:other"`},
		{name: "not root: the image's user is not", pod: nonRoot, want: Identity{UID: 65532, GID: 65532, Home: "/home/nonroot"}},
		{name: "not root: a name does not prove it", user: "app", pod: nonRoot, err: "image has non-numeric user (app)"},
		{name: "not root: the pod's id does", user: "app", pod: nonRoot, own: &corev1.SecurityContext{RunAsUser: id(8)}, want: Identity{UID: 8}},
		{name: "not root: the image without a user is", user: "-", pod: nonRoot, err: "would run as root"},
		{name: "not root: a name of root is", user: "root", pod: nonRoot, err: "would run as root"},
		{name: "not root: user 0 of the container", pod: nonRoot, own: &corev1.SecurityContext{RunAsUser: id(0)}, err: "would run as root"},
		{name: "root, if the container allows it", pod: nonRoot,
			own: &corev1.SecurityContext{RunAsUser: id(0), RunAsNonRoot: ptr.To(false)}, want: Identity{Home: "/root"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := Image{
				User: "65532:65532",
				Passwd: []byte("root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n" +
					"app:x:1000:100::/home/app:/bin/sh\n"),
				Group: []byte("root:x:0:\nvideo:x:44:app\nrender:x:45:app\n"),
			}
			if c.user != "" {
				image.User = strings.TrimPrefix(c.user, "-")
			}
			got, err := IdentityOf(&corev1.PodSpec{SecurityContext: c.pod}, corev1.Container{SecurityContext: c.own}, image)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (c.err != "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

func TestFileOwner(t *testing.T) {
	user := func(id int64) *corev1.SecurityContext { return &corev1.SecurityContext{RunAsUser: &id} }
	for _, c := range []struct {
		name  string
		pod   *corev1.PodSecurityContext
		init  []*corev1.SecurityContext
		own   []*corev1.SecurityContext
		debug bool
		want  *int64
	}{
		{name: "no user", own: []*corev1.SecurityContext{nil}},
		{name: "the pod's user", pod: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](5)}, own: []*corev1.SecurityContext{nil, {}}, want: ptr.To[int64](5)},
		{name: "the same user of all", init: []*corev1.SecurityContext{user(6)}, own: []*corev1.SecurityContext{user(6), user(6)}, want: ptr.To[int64](6)},
		{name: "an init container with another user", init: []*corev1.SecurityContext{user(5)}, own: []*corev1.SecurityContext{user(6)}},
		{name: "a container with another user than the pod's", pod: &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](5)},
			own: []*corev1.SecurityContext{nil, user(6)}},
		{name: "one container without a user", own: []*corev1.SecurityContext{user(6), nil}},
		{name: "an ephemeral container without a user does not count", own: []*corev1.SecurityContext{user(6)}, debug: true, want: ptr.To[int64](6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &corev1.PodSpec{SecurityContext: c.pod}
			for _, context := range c.init {
				spec.InitContainers = append(spec.InitContainers, corev1.Container{SecurityContext: context})
			}
			for _, context := range c.own {
				spec.Containers = append(spec.Containers, corev1.Container{SecurityContext: context})
			}
			if c.debug {
				spec.EphemeralContainers = make([]corev1.EphemeralContainer, 1)
			}
			if diff := cmp.Diff(c.want, fileOwner(spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

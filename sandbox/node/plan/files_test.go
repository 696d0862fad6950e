package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// describe writes files down for a comparison.
func describe(files []File) []string {
	out := []string{}
	for _, f := range files {
		line := fmt.Sprintf("%s %o %s", f.Path, f.Mode, f.Data)
		if f.UID != nil {
			line += fmt.Sprintf(" uid=%d", *f.UID)
		}
		if f.GID != nil {
			line += fmt.Sprintf(" gid=%d", *f.GID)
		}
		out = append(out, line)
	}
	return out
}

func projectedVolume() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: "aud"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Items: []corev1.KeyToPath{{Key: "k", Path: "sub/ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}, Mode: ptr.To[int32](0o400)}}}},
	}}}
}

func secretVolume(name string, optional bool, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: &optional, Items: items, DefaultMode: ptr.To[int32](0o440)}}
}

func TestPayload(t *testing.T) {
	for _, c := range []struct {
		name     string
		source   corev1.VolumeSource
		security *corev1.PodSecurityContext
		want     []string
		fails    string
		why      string
	}{
		{"secret", secretVolume("s", false), nil, []string{"k 440 secret"}, "", "every key, the default mode"},
		{"items", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "a/b", Mode: ptr.To[int32](0o600)}), nil, []string{"a/b 600 secret"}, "", "only the items, their modes"},
		{"missing", secretVolume("no", false), nil, nil, `secret "no" not found`, "a required Secret"},
		{"missing key", secretVolume("s", false, corev1.KeyToPath{Key: "no", Path: "x"}), nil, nil, "couldn't find key no in secret ns/s", "a required key"},
		{"optional", secretVolume("no", true), nil, []string{}, "", "an optional Secret that is absent is an empty volume"},
		{"optional key", secretVolume("s", true, corev1.KeyToPath{Key: "no", Path: "x"}), nil, []string{}, "", "an optional key that is absent is no file"},
		{"outside", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "../x"}), nil, nil, "does not stay inside", "no way out of the volume"},
		{"reserved", secretVolume("s", false, corev1.KeyToPath{Key: "k", Path: "..data"}), nil, nil, "does not stay inside", "the writer's own name"},
		{"projected", projectedVolume(), nil, []string{"labels 400 a=\"1\"\nb=\"2\"", "sub/ca.crt 644 config", "token 644 t"}, "", "all sources in one directory"},
		{"projected for a user", projectedVolume(), &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000)},
			[]string{"labels 400 a=\"1\"\nb=\"2\"", "sub/ca.crt 644 config", "token 600 t uid=1000"}, "", "a token is for its one user only"},
		{"projected for a group", projectedVolume(), &corev1.PodSecurityContext{FSGroup: ptr.To[int64](7)},
			[]string{"labels 440 a=\"1\"\nb=\"2\" gid=7", "sub/ca.crt 644 config gid=7", "token 640 t gid=7"}, "", "the group can read everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := testInputs()
			in.Pod.Spec.SecurityContext, in.Pod.Spec.Containers = c.security, []corev1.Container{{Name: "c"}}
			tokens := map[TokenRequest]Token{{Audience: "aud", Seconds: 3600}: {Value: "t"}}
			got, err := Files(corev1.Volume{Name: "v", VolumeSource: c.source}, in, tokens)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q: %s", err, c.fails, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(got)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

func TestTokenRefresh(t *testing.T) {
	issued := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		life time.Duration
		want time.Duration
	}{
		{"an hour: after 80 %", time.Hour, 48 * time.Minute},
		{"ten minutes", 10 * time.Minute, 8 * time.Minute},
		{"a year: after a day", 365 * 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Token{Issued: issued, Expires: issued.Add(c.life)}.RefreshAt().Sub(issued)
			if got != c.want {
				t.Errorf("refreshed after %s, want %s", got, c.want)
			}
		})
	}
}

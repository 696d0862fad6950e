package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "1", "B": "$(A)"}
	for _, c := range []struct{ name, text, want, why string }{
		{"reference", "x$(A)y", "x1y", "the plain case"},
		{"unknown", "$(NO)", "$(NO)", "a reference to nothing stays"},
		{"escaped", "$$(A)", "$(A)", "two dollars are one"},
		{"escaped twice", "$$$(A)", "$1", "a literal dollar, then a reference"},
		{"not again", "$(B)", "$(A)", "a value is not expanded in turn"},
		{"open", "$(A", "$(A", "a reference without its end is text"},
		{"shell", "$A ${A}", "$A ${A}", "only the round brackets mean something"},
		{"last dollar", "a$", "a$", "a dollar at the end is text"},
		{"empty name", "$()", "$()", "no variable has the empty name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Expand(c.text, vars); got != c.want {
				t.Errorf("expand(%q) = %q, want %q: %s", c.text, got, c.want, c.why)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	image := Image{Entrypoint: []string{"/entry"}, Command: []string{"default"}}
	env := map[string]string{"N": "v"}
	for _, c := range []struct {
		name          string
		image         Image
		command, args []string
		want          []string
		why           string
	}{
		{"image", image, nil, nil, []string{"/entry", "default"}, "nothing said: the image's"},
		{"args", image, nil, []string{"$(N)"}, []string{"/entry", "v"}, "args replace the default arguments only"},
		{"command", image, []string{"/own"}, nil, []string{"/own"}, "a command replaces both"},
		{"both", image, []string{"/own"}, []string{"$(N)", "$$(N)"}, []string{"/own", "v", "$(N)"}, "references are expanded"},
		{"none", Image{}, nil, nil, nil, "nothing to run is an error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := CommandLine(corev1.Container{Command: c.command, Args: c.args}, c.image, env)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
			if (err != nil) != (c.want == nil) {
				t.Errorf("error %v: %s", err, c.why)
			}
		})
	}
}

func TestProcessEnv(t *testing.T) {
	pod := Environment{Vars: map[string]string{"A": "pod", "D": "d"}, Order: []string{"D", "A"}}
	for _, c := range []struct {
		name  string
		image Image
		home  string
		want  []string
	}{
		{"the pod's alone", Image{}, "", []string{"D=d", "A=pod"}},
		{"the pod's variable overrides the image's", Image{Env: []string{"A=image", "B=x=y"}}, "", []string{"A=pod", "B=x=y", "D=d"}},
		{"the user's home", Image{}, "/home/app", []string{"HOME=/home/app", "D=d", "A=pod"}},
		{"the image's HOME overrides the user's", Image{Env: []string{"HOME=/data"}}, "/home/app", []string{"HOME=/data", "D=d", "A=pod"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ProcessEnv(c.image, Identity{Home: c.home}, pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func testInputs() Inputs {
	return Inputs{
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"b": "2", "a": "1"}},
			Spec:       corev1.PodSpec{NodeName: "n", ServiceAccountName: "sa"},
		},
		Objects: Objects{
			Secrets:    map[string]*corev1.Secret{"s": {Data: map[string][]byte{"k": []byte("secret")}}},
			ConfigMaps: map[string]*corev1.ConfigMap{"c": {Data: map[string]string{"k": "config", "not a name": "x"}}},
		},
		At:          Addresses{Pod: "10.0.0.2", Host: "10.0.0.1"},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

func keyRef(kind ObjectKind, name, key string, optional bool) *corev1.EnvVarSource {
	if kind == SecretKind {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional}}
	}
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional}}
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

func limit(name, divisor string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: name, Divisor: resource.MustParse(divisor)}}
}

func TestResolveEnv(t *testing.T) {
	from := corev1.EnvFromSource{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}
	requests := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}}
	for _, c := range []struct {
		name    string
		from    []corev1.EnvFromSource
		env     []corev1.EnvVar
		want    []string
		missing string
		why     string
	}{
		{"defaults", nil, nil, []string{"HOST=h"}, "", "the node's own are there"},
		{"own before default", nil, []corev1.EnvVar{{Name: "HOST", Value: "mine"}}, []string{"HOST=mine"}, "", "defaults give way"},
		{"default referred to", nil, []corev1.EnvVar{{Name: "U", Value: "https://$(HOST)"}}, []string{"U=https://h", "HOST=h"}, "", "service variables can be used"},
		{"order", nil, []corev1.EnvVar{{Name: "A", Value: "$(B)"}, {Name: "B", Value: "b"}, {Name: "C", Value: "$(B)"}},
			[]string{"A=$(B)", "B=b", "C=b", "HOST=h"}, "", "only earlier variables can be referred to"},
		{"envFrom", []corev1.EnvFromSource{from}, []corev1.EnvVar{{Name: "X", Value: "$(P_k)"}},
			[]string{"P_k=config", "X=config", "HOST=h"}, "", "keys that cannot be names are left out"},
		{"secret", nil, []corev1.EnvVar{{Name: "S", ValueFrom: keyRef(SecretKind, "s", "k", false)}}, []string{"S=secret", "HOST=h"}, "", "a key of a Secret"},
		{"missing secret", nil, []corev1.EnvVar{{Name: "S", ValueFrom: keyRef(SecretKind, "no", "k", false)}}, nil, `secret "no" not found`, "a required Secret"},
		{"missing key", nil, []corev1.EnvVar{{Name: "S", ValueFrom: keyRef(ConfigMapKind, "c", "no", false)}}, nil, "couldn't find key no in configmap ns/c", "a required key"},
		{"optional", nil, []corev1.EnvVar{{Name: "S", ValueFrom: keyRef(SecretKind, "no", "k", true)}, {Name: "T", ValueFrom: keyRef(ConfigMapKind, "c", "no", true)}},
			[]string{"HOST=h"}, "", "what is optional and absent is not set"},
		{"fields", nil, []corev1.EnvVar{{Name: "N", ValueFrom: field("metadata.name")}, {Name: "IP", ValueFrom: field("status.podIP")}, {Name: "L", ValueFrom: field("metadata.labels['a']")}},
			[]string{"N=p", "IP=10.0.0.2", "L=1", "HOST=h"}, "", "the downward API"},
		{"resources", nil, []corev1.EnvVar{{Name: "R", ValueFrom: limit("requests.cpu", "1")}, {Name: "M", ValueFrom: limit("limits.memory", "1Mi")}, {Name: "C", ValueFrom: limit("requests.cpu", "1m")}},
			[]string{"R=1", "M=1024", "C=250", "HOST=h"}, "", "rounded up; a limit not set is the node's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ResolveEnv(corev1.Container{Name: "c", EnvFrom: c.from, Env: c.env, Resources: requests}, testInputs(), []corev1.EnvVar{{Name: "HOST", Value: "h"}})
			if c.missing != "" {
				var missing *MissingError
				if !errors.As(err, &missing) || err.Error() != c.missing {
					t.Errorf("error %v, want %q: %s", err, c.missing, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.List()); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	spec := &corev1.PodSpec{
		InitContainers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: keyRef(SecretKind, "init", "k", false)}}}},
		Containers: []corev1.Container{{
			Env:     []corev1.EnvVar{{ValueFrom: keyRef(ConfigMapKind, "env", "k", true)}, {Value: "plain"}},
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "all"}}}},
		}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "all"}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "ca"}}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
			}}}},
		},
	}
	want := map[Reference]bool{{SecretKind, "init"}: true, {ConfigMapKind, "env"}: true, {SecretKind, "all"}: true, {ConfigMapKind, "ca"}: true}
	if diff := cmp.Diff(want, References(spec)); diff != "" {
		t.Error(diff)
	}
}

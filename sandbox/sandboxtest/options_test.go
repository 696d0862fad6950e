package sandboxtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpFlags(t *testing.T) {
	const sync = "--status-sync-interval=5s"
	for _, test := range []struct {
		name string
		opts []Option
		want []string
	}{
		{"by default", nil, []string{"--clusters=1", "--hubs=1", sync}},
		{"everything", []Option{Clusters(3), Hubs(2), HubAs("local-cluster"), Hosted(1), FeatureGates("work-agent:X=true"), AddonAuth("token"),
			OCMVersion("v1.0.0"), KubernetesVersion("v1.33.9"), Image("i", Dir("."))},
			[]string{"--clusters=3", "--hubs=2", sync, "--hub-as=local-cluster", "--hosted=1", "--feature-gates=work-agent:X=true", "--addon-auth=token",
				"--ocm-version=v1.0.0", "--kubernetes-version=v1.33.9"}},
		{"the last of two counts", []Option{Clusters(3), Clusters(2)}, []string{"--clusters=2", "--hubs=1", sync}},
	} {
		o := newOptions(test.opts)
		if diff := cmp.Diff(test.want, o.upFlags()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name, want string
		option     Option
	}{
		{"an image", "", Image("example.com/app", Dir("."))},
		{"no reference", `Image("",`, Image("", Dir("."))},
		{"no such directory", `image app: Dir("no/such/dir")`, Image("app", Dir("no/such/dir"))},
		{"a file", `Dir("doc.go"): it is not a directory`, Image("app", Dir("doc.go"))},
		{"no such archive", `image app: Archive("no-such.tar")`, Image("app", Archive("no-such.tar"))},
		{"a library", `GoMain("."): it is the package sandboxtest, not a program (package main)`, Image("app", GoMain("."))},
		{"no such package", `image app: GoMain("./no/such")`, Image("app", GoMain("./no/such"))},
		{"a program", "", Image("app", GoMain("../integration/example/greeter"))},
		{"no source", `Image("app", <nil>): give a reference and a source`, Image("app", nil)},
	} {
		o := newOptions([]Option{test.option})
		if err := o.validate(t.Context()); (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: validate = %v, want %q", test.name, err, test.want)
		}
	}
}

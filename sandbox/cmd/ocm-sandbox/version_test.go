package main

import (
	"bytes"
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	options := &launcher.Options{Out: &out, Versions: build.Versions{OCM: "v1.0.0"}}
	if err := versionCommand(options).Execute(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "ocm-sandbox ") || lines[1] != "OCM v1.0.0" || !strings.HasPrefix(lines[2], "Kubernetes v1.") {
		t.Errorf("version prints %q, want ocm-sandbox, the OCM that was chosen, and the pinned Kubernetes", out.String())
	}
}

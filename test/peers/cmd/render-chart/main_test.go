package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: {{ .Release.Namespace }}}\ndata: {tag: {{ .Values.tag }}}\n"

func TestRender(t *testing.T) {
	for name, test := range map[string]struct {
		reason, template string
		want             string // of the output
		err              string
	}{
		"values":  {reason: "the namespace and -set", template: configMap, want: "{name: c, namespace: n}\ndata: {tag: new}"},
		"a hook":  {reason: "it would be lost", template: strings.Replace(configMap, "name: c", `name: c, annotations: {helm.sh/hook: pre-install}`, 1), err: "has 1 hooks"},
		"no YAML": {reason: "an error names the chart", template: "{{ .Values", err: "render the chart"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: a\nversion: 1.0.0\n")
			write(t, filepath.Join(dir, "values.yaml"), "tag: old\n")
			write(t, filepath.Join(dir, "templates/c.yaml"), test.template)
			var out strings.Builder
			err := run([]string{"-namespace=n", "-set=tag=new", dir}, &out)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("%s: got the error %v, want one with %q", test.reason, err, test.err)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("%s: want %q in:\n%s", test.reason, test.want, out.String())
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

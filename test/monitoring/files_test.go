package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/test/monitoring/dashboard"
)

// top is the repository.
const top = "../.."

// Rule is an alert.
type Rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Group is a group of rules, as in a PrometheusRule and in a file of rules.
type Group struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
}

// Groups is a file of rules.
type Groups struct {
	Groups []Group `json:"groups"`
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// groups returns the rules of deploy/monitoring.
func groups(t *testing.T) Groups {
	t.Helper()
	var object struct {
		Kind string `json:"kind"`
		Spec Groups `json:"spec"`
	}
	if err := yaml.UnmarshalStrict([]byte(withoutMetadata(read(t, top, "deploy/monitoring/rules.yaml"))), &object); err != nil {
		t.Fatal(err)
	}
	if object.Kind != "PrometheusRule" || len(object.Spec.Groups) == 0 {
		t.Fatalf("rules.yaml is a %q with %d groups", object.Kind, len(object.Spec.Groups))
	}
	return object.Spec
}

var metadata = regexp.MustCompile(`(?s)apiVersion: .*?\n(kind: \w+\n)metadata:\n.*?\n(spec:\n)`)

func withoutMetadata(object string) string { return metadata.ReplaceAllString(object, "$1$2") }

func rules(t *testing.T) map[string]Rule {
	t.Helper()
	byName := map[string]Rule{}
	for _, group := range groups(t).Groups {
		for _, rule := range group.Rules {
			if _, twice := byName[rule.Alert]; twice {
				t.Errorf("there are two alerts %s", rule.Alert)
			}
			byName[rule.Alert] = rule
		}
	}
	return byName
}

// write writes an object as YAML into a file of a directory of the test, and returns its path.
func write(t *testing.T, name string, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// promtool runs promtool, and returns what it prints. make test-monitoring builds it.
func promtool(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(top, "bin/promtool"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	return string(output), err
}

func dashboards(t *testing.T) map[string]dashboard.Dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, "deploy/monitoring/dashboards/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, error %v", len(files), err)
	}
	all := map[string]dashboard.Dashboard{}
	for _, file := range files {
		d, err := dashboard.Parse([]byte(read(t, file)))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all
}

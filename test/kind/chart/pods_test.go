package chart

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	deployDir          = "../../../deploy"
	hubOfHubsDeployDir = "../../../hub-of-hubs-status-sync/deploy"
	// goldenDir has what pkg/hub/addon/install renders of the embedded manifests, held by
	// its own tests.
	goldenDir = "../../../pkg/hub/addon/install/testdata"
)

// TestEveryPodIsRestricted renders every pod that the project deploys, and
// checks it as OpenShift and as Kubernetes' Pod Security do.
func TestEveryPodIsRestricted(t *testing.T) {
	pods := map[string]*corev1.PodSpec{}
	for source, all := range everything(t) {
		for _, object := range all {
			fields, _ := object.(map[string]any)
			findPods(t, fmt.Sprint(source, " ", fields["kind"]), object, pods)
		}
	}
	want := []string{
		"base Deployment",
		"chart/helloworld-addon Deployment",
		"distribution Deployment",
		"golden agent-config.yaml Deployment",
		"golden agent-default.yaml Deployment",
		"golden agent-hosted.yaml Deployment",
		"golden agent-own-namespace.yaml Deployment",
		"golden hook-hosted.yaml Job",
		"golden hook.yaml Job",
		"hub-of-hubs-status-sync/operator.yaml.template Deployment",
		"hub-of-hubs-status-sync/report Deployment",
		"hub-of-hubs-status-sync/sync Deployment",
		"lease-sidecar/hub AddOnTemplate",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(pods))); diff != "" {
		t.Errorf("pods (-known +found); a new one belongs into the list:\n%s", diff)
	}
	for name, pod := range pods {
		if err := CheckRestrictedV2(pod); err != nil {
			t.Errorf("%s: OpenShift's restricted-v2 rejects it:\n%v", name, err)
		}
		if err := CheckRestricted(pod); err != nil {
			t.Errorf("%s: Pod Security rejects it: %v", name, err)
		}
	}
}

// everything returns what can be installed, by where it comes from: each
// kustomization and template below deploy/, the chart, and the rendered
// embedded manifests.
func everything(t *testing.T) map[string][]any {
	t.Helper()
	all := map[string][]any{}
	for dir, prefix := range map[string]string{deployDir: "", hubOfHubsDeployDir: "hub-of-hubs-status-sync"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			source, _ := filepath.Rel(dir, path)
			source = filepath.Join(prefix, source)
			switch {
			case source == "distribution/kustomization.yaml":
				// A component is built with what it adds to.
				added := kustomized(t, distributionDir)
				for name := range kustomized(t, baseDir) {
					delete(added, name)
				}
				all["distribution"] = slices.Collect(maps.Values(added))
			case entry.Name() == "kustomization.yaml":
				all[filepath.Dir(source)] = slices.Collect(maps.Values(kustomized(t, filepath.Dir(path))))
			case strings.HasSuffix(path, ".template"):
				all[source] = parsed(t, os.Expand(readFile(t, path), func(name string) string {
					return map[string]string{"COMPONENT": "hub-of-hubs-status-sync", "REGISTRY": "example.com", "IMAGE_TAG": "v1"}[name]
				}))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chart, err := templated(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	all["chart/helloworld-addon"] = slices.Collect(maps.Values(chart))
	golden, err := filepath.Glob(filepath.Join(goldenDir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range golden {
		all["golden "+filepath.Base(path)] = parsed(t, readFile(t, path))
	}
	return all
}

func parsed(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	for document := range strings.SplitSeq(text, "---\n") {
		var object any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		all = append(all, object)
	}
	return all
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// findPods adds the pod specs anywhere in a value. A pod spec is a map with a
// list of containers; an AddOnTemplate, for example, holds one in its manifests.
func findPods(t *testing.T, name string, value any, pods map[string]*corev1.PodSpec) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			findPods(t, name, element, pods)
		}
	case map[string]any:
		if _, is := value["containers"].([]any); !is {
			for _, element := range value {
				findPods(t, name, element, pods)
			}
			return
		}
		text, err := yaml.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.PodSpec{}
		if err := yaml.UnmarshalStrict(text, pod); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, twice := pods[name]; twice {
			t.Fatalf("%s has two pods", name)
		}
		pods[name] = pod
	}
}

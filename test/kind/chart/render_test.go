package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// asKubectl makes the test's own program act as `kubectl kustomize DIRECTORY`.
const asKubectl = "CHART_TEST_AS_KUBECTL"

func TestMain(m *testing.M) {
	if os.Getenv(asKubectl) == "" {
		m.Run()
		return
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), os.Args[2])
	if err != nil {
		panic(err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
}

// TestRender: which images deploy/render gives the controller and the agents.
func TestRender(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	tests := map[string]struct {
		reason            string
		images            []string
		controller, agent string
		refused           string // part of the error; the others are empty then
	}{
		"one image": {
			reason: "the agents get the controller's", images: []string{"example.com/a:v1"},
			controller: "example.com/a:v1", agent: "example.com/a:v1",
		},
		"an empty image for the agents": {
			reason: "as if it were not given", images: []string{"example.com/a:v1", ""},
			controller: "example.com/a:v1", agent: "example.com/a:v1",
		},
		"one image by digest": {
			reason: "both get the digest", images: []string{"example.com/a" + digest},
			controller: "example.com/a" + digest, agent: "example.com/a" + digest,
		},
		"two images": {
			reason: "a registry's port is no tag", images: []string{"localhost:5000/a:v1", "localhost:5000/a-agent:v2"},
			controller: "localhost:5000/a:v1", agent: "localhost:5000/a-agent:v2",
		},
		"two images, the agents' by digest": {
			reason: "each has its own version", images: []string{"example.com/a", "example.com/a-agent" + digest},
			controller: "example.com/a:latest", agent: "example.com/a-agent" + digest,
		},
		"no name of an image": {
			reason: "the variable is named", images: []string{"example.com/a:v1", "a b"},
			refused: "AGENT_IMAGE=a b is not the name of an image",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), filepath.Join(deployDir, "render"), append([]string{os.Args[0]}, test.images...)...)
			command.Env = append(os.Environ(), asKubectl+"=1")
			output, err := command.CombinedOutput()
			if test.refused != "" {
				if err == nil || !strings.Contains(string(output), test.refused) {
					t.Fatalf("%s: got %v, want %q in:\n%s", test.reason, err, test.refused, output)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v:\n%s", test.reason, err, output)
			}
			lines := strings.Split(string(output), "\n")
			for i := range lines {
				lines[i] = strings.ReplaceAll(strings.TrimSpace(lines[i]), `"`, "")
			}
			env := slices.Index(lines, "- name: AGENT_IMAGE")
			if env < 0 || lines[env+1] != "value: "+test.agent || !slices.Contains(lines, "image: "+test.controller) {
				t.Errorf("%s: want the controller's image %s, the agents' %s in:\n%s", test.reason, test.controller, test.agent, output)
			}
		})
	}
}

// TestRenderDistribution: with DISTRIBUTION the controller of ConfigMapReplicaSets is there, with the
// image of the other one, which gets the flag; without, neither is.
func TestRenderDistribution(t *testing.T) {
	for distribution, want := range map[string]bool{"": false, "0": false, "1": true} {
		command := exec.CommandContext(t.Context(), filepath.Join(deployDir, "render"), os.Args[0], "example.com/a:v1")
		command.Env = append(os.Environ(), asKubectl+"=1", "DISTRIBUTION="+distribution)
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
		images := strings.Count(string(output), "image: example.com/a:v1")
		flag, there := strings.Contains(string(output), "- --distribution\n"), strings.Contains(string(output), "helloworld-replicaset-controller")
		if flag != want || there != want || (images == 2) != want {
			t.Errorf("DISTRIBUTION=%s: the flag is there %t, the controller %t, and the image %d times:\n%s", distribution, flag, there, images, output)
		}
	}
}

// TestRenderRefusesDistribution: another value would otherwise remove a running controller.
func TestRenderRefusesDistribution(t *testing.T) {
	command := exec.CommandContext(t.Context(), filepath.Join(deployDir, "render"), os.Args[0], "example.com/a:v1")
	command.Env = append(os.Environ(), asKubectl+"=1", "DISTRIBUTION=true")
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "DISTRIBUTION=true: want 1") {
		t.Errorf("got %v:\n%s", err, output)
	}
}

// TestAgentImage: which image `make images` builds for clusters, and whether
// `make deploy-example` deploys it.
func TestAgentImage(t *testing.T) {
	const given = "AGENT_IMAGE=mirror.example.com/b:v2"
	tests := map[string]struct {
		reason          string
		variables       []string
		built, deployed string
	}{
		"a tag":              {"the same tag", []string{"IMAGE=example.com/o/a:v1"}, "example.com/o/a-agent:v1", ""},
		"no tag":             {"none either", []string{"IMAGE=a"}, "a-agent", ""},
		"a port":             {"it is no tag", []string{"IMAGE=localhost:5000/a"}, "localhost:5000/a-agent", ""},
		"a port and a tag":   {"the port stays", []string{"IMAGE=localhost:5000/a:v1"}, "localhost:5000/a-agent:v1", ""},
		"a digest":           {"another image has another", []string{"IMAGE=localhost:5000/a@sha256:00"}, "localhost:5000/a-agent", ""},
		"a tag and a digest": {"the tag stays", []string{"IMAGE=a:v1@sha256:00"}, "a-agent:v1", ""},
		"both given":         {"the user's", []string{"IMAGE=a:v1", given}, "mirror.example.com/b:v2", "mirror.example.com/b:v2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "make", append(test.variables, "-s", "-C", deployDir+"/..", "KUBECTL=kubectl",
				`--eval=show: ; @echo '$(AGENT_IMAGE) $(AGENT_IMAGE_SET)'`, "show")...)
			// what the make that runs the tests was given stays out
			command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
				name, _, _ := strings.Cut(variable, "=")
				return slices.Contains([]string{"IMAGE", "AGENT_IMAGE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}, name)
			})
			output, err := command.CombinedOutput()
			if got, want := string(output), test.built+" "+test.deployed+"\n"; err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", test.reason, got, err, want)
			}
		})
	}
}

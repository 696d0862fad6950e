//go:build kind

package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// top is the project's directory, seen from this one.
	top = "../../.."
	// ownNamespace is where the programs are installed.
	ownNamespace = "open-cluster-management"
	syncProgram  = "hub-of-hubs-status-sync"
	// reportProgram is on leaf hubs.
	reportProgram = "hub-of-hubs-status-report"

	howToRun = "run the tests by `make e2e-hub-of-hubs`, which sets all of these"
)

// environment is what the tests are given.
type environment struct {
	global, leaf *hub
	// cluster is a managed cluster of the leaf hub; it is the leaf hub itself.
	cluster string
	kubectl string
	// image is the add-on's, hubOfHubsImage that of both programs; registry and tag make another name of the latter
	// in the operator's template.
	image, hubOfHubsImage, registry, tag string
	// address is that of this machine, as the hubs' pods reach it.
	address string
}

// hub is one hub, as its administrator has it.
type hub struct {
	name, kubectl, kubeconfig string
	config                    *rest.Config
	kube                      kubernetes.Interface
	client                    client.Client
	// program is the one that runs on it.
	program string
}

// loadEnvironment reads the variables and says everything that is wrong with them.
func loadEnvironment() (*environment, error) {
	var problems []error
	value := func(name string) string {
		text := os.Getenv(name)
		if text == "" {
			problems = append(problems, fmt.Errorf("%s: not set", name))
		}
		return text
	}
	env := &environment{cluster: value("LEAF_CLUSTER"), kubectl: value("KUBECTL"), image: value("IMAGE"), hubOfHubsImage: value("HUB_OF_HUBS_IMAGE"),
		registry: value("REGISTRY"), tag: value("IMAGE_TAG"), address: value("DATABASE_ADDRESS")}
	for name, into := range map[string]**hub{"GLOBAL_HUB_KUBECONFIG": &env.global, "LEAF_HUB_KUBECONFIG": &env.leaf} {
		opened, err := openHub(value(name))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
			continue
		}
		opened.kubectl, *into = env.kubectl, opened
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w\n%s", errors.Join(problems...), howToRun)
	}
	env.global.name, env.global.program = "the global hub", syncProgram
	env.leaf.name, env.leaf.program = "the leaf hub", reportProgram
	return env, nil
}

func openHub(kubeconfig string) (*hub, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	h := &hub{kubeconfig: kubeconfig, config: config}
	if h.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	h.client, err = client.New(config, client.Options{})
	return h, err
}

func (e *environment) hubs() []*hub { return []*hub{e.global, e.leaf} }

// run runs kubectl on the hub with what it is given to read, and returns what it prints.
func (h *hub) run(ctx context.Context, in string, args ...string) (string, error) {
	return command(ctx, in, nil, h.kubectl, append([]string{"--kubeconfig=" + h.kubeconfig}, args...)...)
}

// command runs a program in the project's directory.
func command(ctx context.Context, in string, env []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = top, append(os.Environ(), env...)
	command.Stdin = strings.NewReader(in)
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return string(output), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}

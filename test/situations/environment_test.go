//go:build situations

package situations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	hubEnv      = "HUB_KUBECONFIG"
	clustersEnv = "CLUSTER_KUBECONFIGS"
	// hostedEnv names the clusters in hosted mode, each with its hosting cluster
	// and its kubeconfig as the hosting cluster's pods can use it:
	// cluster3=cluster1=/path/c.kubeconfig. None: empty.
	hostedEnv = "HOSTED_CLUSTERS"
	stopEnv   = "STOP_REGISTRATION_AGENT"
	startEnv  = "START_REGISTRATION_AGENT"
	// processEnv prints what identifies the registration agent's process, and nothing
	// while none runs. endsEnv prints a line with the cause for each time that the
	// agent ended by itself, oldest first.
	processEnv = "REGISTRATION_AGENT_PROCESS"
	endsEnv    = "REGISTRATION_AGENT_ENDS"
	// flagsEnv restarts the registration agent with the flags that are appended to the
	// command, after its own ones, and without those of an earlier call.
	flagsEnv = "SET_REGISTRATION_AGENT_FLAGS"
	// sandboxEnv is the command of the sandbox, for what only it can do.
	sandboxEnv = "SANDBOX"
	// stopHubEnv ends the second hub's API server, startHubEnv starts it again.
	stopHubEnv  = "STOP_SECOND_HUB"
	startHubEnv = "START_SECOND_HUB"
)

// api is one API server.
type api struct {
	kubernetes.Interface
	dynamic dynamic.Interface
	config  *rest.Config
}

func newAPI(path string) (api, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return api{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config.UserAgent, config.QPS = "helloworld-situations", -1
	var result api
	var errs [2]error
	result.config = config
	result.Interface, errs[0] = kubernetes.NewForConfig(config)
	result.dynamic, errs[1] = dynamic.NewForConfig(config)
	return result, errors.Join(errs[:]...)
}

// environment is a hub and its managed clusters.
type environment struct {
	hub      api
	clusters []*cluster
}

// cluster is a managed cluster.
type cluster struct {
	// name is the ManagedCluster's name, and its namespace on the hub.
	name string
	// machine is how the commands that stop and start its agents call it.
	machine string
	hub     api
	// managed is where the copies are, in the namespace install.
	managed api
	install string
	// home is where the agents run, OCM's in the namespace klusterlet: the managed
	// cluster itself, or its hosting cluster.
	home       api
	klusterlet string
	// hosting is the name of the hosting cluster, empty in default mode, and
	// outside a kubeconfig by which its pods reach the managed cluster.
	hosting, outside string
}

func (c *cluster) hosted() bool { return c.hosting != "" }

// load reads the environment, and says everything that is wrong with it.
func load(t *testing.T) *environment {
	t.Helper()
	var problems []error
	for _, name := range []string{stopEnv, startEnv, processEnv, endsEnv, flagsEnv} {
		if os.Getenv(name) == "" {
			problems = append(problems, fmt.Errorf("%s: not set: give a shell command that acts on the cluster $CLUSTER", name))
		}
	}
	env := &environment{}
	var err error
	if env.hub, err = newAPI(os.Getenv(hubEnv)); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", hubEnv, err))
	}
	apis := map[string]api{}
	for name, path := range pairs(os.Getenv(clustersEnv)) {
		if apis[name], err = newAPI(path); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", clustersEnv, name, err))
		}
	}
	hosted := pairs(os.Getenv(hostedEnv))
	for name, managed := range apis {
		c := &cluster{name: name, machine: name, hub: env.hub, managed: managed, install: "default", home: managed, klusterlet: klusterletNamespace}
		if description, ok := hosted[name]; ok {
			c.hosting, c.outside, _ = strings.Cut(description, "=")
			c.home, c.klusterlet, c.install = apis[c.hosting], "klusterlet-"+name, "klusterlet-"+name
		}
		env.clusters = append(env.clusters, c)
	}
	sort.Slice(env.clusters, func(i, j int) bool { return env.clusters[i].name < env.clusters[j].name })
	if len(env.clusters) == 0 {
		problems = append(problems, fmt.Errorf("%s: no cluster: give name=path,name=path", clustersEnv))
	}
	if err := errors.Join(problems...); err != nil {
		t.Fatalf("%v\ntest/situations/on-sandbox sets all of it", err)
	}
	return env
}

// pairs reads "name=value,name=value"; what has no value is left out.
func pairs(value string) map[string]string {
	found := map[string]string{}
	for entry := range strings.SplitSeq(value, ",") {
		if name, rest, ok := strings.Cut(strings.TrimSpace(entry), "="); ok {
			found[name] = rest
		}
	}
	return found
}

// shell runs a command of the environment for the cluster.
func (c *cluster) shell(ctx context.Context, env, arguments string) ([]byte, error) {
	command := os.Getenv(env) + " " + arguments
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = append(os.Environ(), "CLUSTER="+c.machine)
	output, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return output, nil
}

// sandbox runs a command of the sandbox.
func (c *cluster) sandbox(t *testing.T, arguments string) []byte {
	t.Helper()
	return c.command(t, sandboxEnv, arguments)
}

// command runs a command of the environment that not every situation needs.
func (c *cluster) command(t *testing.T, env, arguments string) []byte {
	t.Helper()
	if os.Getenv(env) == "" {
		t.Fatalf("%s is not set: run it by test/situations/on-sandbox or on-kind", env)
	}
	output, err := c.shell(t.Context(), env, arguments)
	must(t, "run the command of "+env, err)
	return output
}

// durations are what each situation took.
var durations lines

type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) print(out io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sort.Strings(l.all)
	for _, line := range l.all {
		_, _ = fmt.Fprintln(out, "situation", line)
	}
}

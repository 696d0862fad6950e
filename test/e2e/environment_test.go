//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	addonclient "open-cluster-management.io/api/client/addon/clientset/versioned"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
)

const (
	hubEnv      = "HUB_KUBECONFIG"
	clustersEnv = "CLUSTER_KUBECONFIGS"

	howToRun = "run the suite by `make test`, or give it a hub and managed clusters: " +
		hubEnv + "=/path/hub.kubeconfig " + clustersEnv + "=cluster1=/path/a.kubeconfig,cluster2=/path/b.kubeconfig " +
		"go test -tags e2e ./test/e2e -v (absolute paths)"
)

// environment is what all scenarios share.
type environment struct {
	hub      *hub
	clusters []*cluster
	// teams are namespaces of the hub that the suite made.
	teams []string
}

// first is the cluster whose agent runs in the namespace default.
func (e *environment) first() *cluster { return e.clusters[0] }

// second is the cluster whose agent runs in a namespace that the add-on ships.
func (e *environment) second() *cluster { return e.clusters[1] }

// apiServer is one cluster's API.
type apiServer struct {
	config  *rest.Config
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

type hub struct {
	apiServer
	addon   addonclient.Interface
	work    workclient.Interface
	cluster clusterclient.Interface
}

// cluster is a managed cluster.
type cluster struct {
	apiServer
	// name is the ManagedCluster's name, and its namespace on the hub.
	name string
	// installNamespace is where the agent and the copies are.
	installNamespace string
}

// loadEnvironment reads the two variables and says everything that is wrong
// with them. At least so many clusters are needed.
func loadEnvironment(getenv func(string) string, atLeast int) (*environment, error) {
	var problems []error
	env := &environment{}

	if path := getenv(hubEnv); path == "" {
		problems = append(problems, fmt.Errorf("%s: not set", hubEnv))
	} else if h, err := newHub(path); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", hubEnv, err))
	} else {
		env.hub = h
	}

	paths, err := parseClusters(getenv(clustersEnv), atLeast)
	if err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", clustersEnv, err))
	}
	for i, name := range sortedKeys(paths) {
		api, err := newAPIServer(paths[name])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %s: %w", clustersEnv, name, err))
			continue
		}
		c := &cluster{apiServer: api, name: name, installNamespace: "default"}
		if i > 0 {
			c.installNamespace = ownNamespace
		}
		env.clusters = append(env.clusters, c)
	}

	if len(problems) > 0 {
		return nil, fmt.Errorf("%w\n%s", errors.Join(problems...), howToRun)
	}
	return env, nil
}

// parseClusters reads "name=path,name=path".
func parseClusters(value string, atLeast int) (map[string]string, error) {
	if value == "" {
		return nil, errors.New("not set")
	}
	paths := map[string]string{}
	for _, entry := range strings.Split(value, ",") {
		name, path, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("%q is not name=path", entry)
		}
		if _, twice := paths[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		paths[name] = path
	}
	if len(paths) < atLeast {
		return nil, fmt.Errorf("%d given, at least %d needed", len(paths), atLeast)
	}
	return paths, nil
}

func newHub(path string) (*hub, error) {
	api, err := newAPIServer(path)
	if err != nil {
		return nil, err
	}
	h := &hub{apiServer: api}
	var errs [3]error
	h.addon, errs[0] = addonclient.NewForConfig(api.config)
	h.work, errs[1] = workclient.NewForConfig(api.config)
	h.cluster, errs[2] = clusterclient.NewForConfig(api.config)
	return h, errors.Join(errs[:]...)
}

func newAPIServer(path string) (apiServer, error) {
	if _, err := os.Stat(path); err != nil {
		return apiServer{}, fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return apiServer{}, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	config.UserAgent = "helloworld-e2e"
	config.Timeout = callTimeout
	// The suite polls; a limit on its own side would blur what it measures.
	config.QPS = -1
	return apiServerFor(config)
}

func apiServerFor(config *rest.Config) (apiServer, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return apiServer{}, fmt.Errorf("create client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return apiServer{}, fmt.Errorf("create dynamic client: %w", err)
	}
	return apiServer{config: config, kube: kube, dynamic: dyn}, nil
}

// streaming is a client whose watches the request timeout does not cut off.
func (a apiServer) streaming() (kubernetes.Interface, error) {
	config := rest.CopyConfig(a.config)
	config.Timeout = time.Duration(0)
	return kubernetes.NewForConfig(config)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

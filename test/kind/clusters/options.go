package clusters

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/test/kind/progress"
)

// Hub is the name of the hub's cluster.
const Hub = "hub"

// MaxClusters bounds the managed clusters: a kind cluster takes about 700 MB of
// memory, and more than this at once is a mistake in a number.
const MaxClusters = 20

// maxRestartBackOff is the longest time that the kubelet accepts.
const maxRestartBackOff = 5 * time.Minute

// Options select the clusters.
type Options struct {
	// Dir is where the kubeconfigs are.
	Dir string
	// Prefix comes before the names that kind knows the clusters by, so that
	// several sets can be side by side.
	Prefix string
	// Progress gets a line for each step.
	Progress *progress.Reporter
}

// UpOptions set what to start.
type UpOptions struct {
	// Clusters is the number of managed clusters.
	Clusters int
	// NodeImage is the nodes' image; empty means kind's own default.
	NodeImage string
	// RestartBackOff bounds how long the kubelet waits before it restarts a container
	// that keeps ending; 0 means the kubelet's default, 5 minutes. It needs Kubernetes
	// 1.32 or later.
	RestartBackOff time.Duration
}

// Validate reports every problem at once.
func (o Options) Validate() error {
	var problems []error
	if o.Dir == "" {
		problems = append(problems, errors.New("--dir is empty: name a directory for the kubeconfigs"))
	}
	if o.Prefix != "" {
		for _, message := range validation.IsDNS1123Label(o.Prefix + Hub) {
			problems = append(problems, fmt.Errorf("--prefix=%q makes no name of a cluster: %s", o.Prefix, message))
		}
	}
	return errors.Join(problems...)
}

// Validate reports every problem at once.
func (o UpOptions) Validate() error {
	var problems []error
	if o.Clusters < 0 || o.Clusters > MaxClusters {
		problems = append(problems, fmt.Errorf("--clusters=%d: give a number from 0 to %d", o.Clusters, MaxClusters))
	}
	if strings.ContainsAny(o.NodeImage, " \t\n") {
		problems = append(problems, fmt.Errorf("--node-image=%q is not the name of an image, such as kindest/node:v1.34.4", o.NodeImage))
	}
	if o.RestartBackOff != 0 && (o.RestartBackOff < time.Second || o.RestartBackOff > maxRestartBackOff) {
		problems = append(problems, fmt.Errorf("--restart-back-off=%s: give a time from 1s to %s", o.RestartBackOff, maxRestartBackOff))
	}
	return errors.Join(problems...)
}

// ManagedName is the name of the n-th managed cluster, from 1.
func ManagedName(n int) string { return fmt.Sprintf("cluster%d", n) }

var managedName = regexp.MustCompile(`^cluster[1-9][0-9]*$`)

// kindName is the name that kind knows the cluster by.
func (o Options) kindName(name string) string { return o.Prefix + name }

// Kubeconfig is the administrator's kubeconfig file of the cluster, for this
// machine.
func (o Options) Kubeconfig(name string) string {
	return filepath.Join(o.Dir, name+".kubeconfig")
}

// Internal is the kubeconfig file of the cluster for the other clusters' pods.
func (o Options) Internal(name string) string {
	return filepath.Join(o.Dir, name+".internal.kubeconfig")
}

// merged is the kubeconfig file with a context for each cluster.
func (o Options) merged() string { return filepath.Join(o.Dir, "kubeconfig") }

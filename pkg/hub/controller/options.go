package controller

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
)

// Options are the options of the controller's command line.
type Options struct {
	// AgentImage is the image of the agents that it deploys.
	AgentImage string
	// Distribution grants the controller of ConfigMapReplicaSets its rights.
	Distribution bool
	// MetricsPerCluster exports the state of each cluster as well.
	MetricsPerCluster bool
	frame.Options
}

// NewOptions returns the default options.
func NewOptions() *Options { return &Options{Options: *frame.NewOptions()} }

// AddFlags adds a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.AgentImage, "agent-image", o.AgentImage,
		"the image of the agents on the managed clusters, usually the controller's own; required")
	flags.BoolVar(&o.Distribution, "distribution", o.Distribution,
		"let the service account "+manifests.ManagedByReplicaSet+" of the controller's namespace write ConfigMaps in the namespaces "+
			"of the clusters on which the add-on is enabled, for ConfigMapReplicaSets")
	flags.BoolVar(&o.MetricsPerCluster, "metrics-per-cluster", o.MetricsPerCluster,
		"export the state and the expiry of the credentials of each cluster as well: two series for each cluster")
	o.Options.AddFlags(flags)
}

// Validate returns every problem with the options, each naming the flag, its
// value and what to do.
func (o *Options) Validate() error {
	var image error
	if o.AgentImage == "" {
		image = fmt.Errorf("--agent-image is missing: name the agents' image, for example --agent-image=%s", manifests.DefaultImage)
	} else if strings.ContainsAny(o.AgentImage, " \t\r\n") {
		image = fmt.Errorf("--agent-image=%q is not an image: remove the white space", o.AgentImage)
	}
	return errors.Join(image, o.Options.Validate())
}

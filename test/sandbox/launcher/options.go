package launcher

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"open-cluster-management.io/helloworld-addon/test/sandbox/images"
)

// maxClusters is how many managed clusters one sandbox may have: the networks
// and ports of the clusters are numbered, and memory ends long before.
const maxClusters = 50

// Options say which sandbox to start.
type Options struct {
	// Dir is the sandbox's directory.
	Dir string
	// Programs is where the pinned programs are built, Module their Go module.
	Programs, Module string
	// Clusters is the number of managed clusters.
	Clusters int
	// Images are mappings IMAGE=DIRECTORY.
	Images []string
	// Out is told what is going on.
	Out io.Writer
}

// Validate reports every problem, naming flag and value.
func (o *Options) Validate() error {
	var problems []error
	if o.Clusters < 1 || o.Clusters > maxClusters {
		problems = append(problems, fmt.Errorf("--clusters=%d: a sandbox has 1 to %d managed clusters (make sandbox-up CLUSTERS=2)", o.Clusters, maxClusters))
	}
	for flag, value := range map[string]*string{"--dir": &o.Dir, "--programs": &o.Programs, "--module": &o.Module} {
		if *value == "" {
			problems = append(problems, fmt.Errorf("%s: name a directory", flag))
			continue
		}
		absolute, err := filepath.Abs(*value)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s=%s: %w", flag, *value, err))
			continue
		}
		*value = absolute
	}
	for _, mapping := range o.Images {
		if _, _, err := images.Parse(mapping); err != nil {
			problems = append(problems, fmt.Errorf("--image: %w", err))
		}
	}
	return errors.Join(problems...)
}

// names are the clusters' names, the hub's first.
func (o *Options) names() []string {
	names := []string{"hub"}
	for i := range o.Clusters {
		names = append(names, fmt.Sprintf("cluster%d", i+1))
	}
	return names
}

package demo

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Options configures the demo.
type Options struct {
	// Sandbox is the path of ocm-sandbox; Programs is the directory of the built
	// programs, Module the Go module that pins them.
	Sandbox, Programs, Module string
	// Dir is the sandbox's directory.
	Dir string
	// Image is the add-on's image and ImageRoot the directory laid out like it.
	Image, ImageRoot string
	// Kubectl is the kubectl that the demo runs and prints.
	Kubectl string
	// Deploy is the directory with the add-on's manifests and scripts.
	Deploy string
	// Clusters is the number of managed clusters; the demo uses the first.
	Clusters int
	// Once ends the demo and the sandbox after the last effect.
	Once bool
	// Out receives the output.
	Out io.Writer
	// Patience limits each wait for effects.
	Patience time.Duration
}

// Validate returns an error that joins every problem, with flag and value, and makes
// paths absolute.
func (o *Options) Validate() error {
	var problems []error
	if o.Clusters < 1 {
		problems = append(problems, fmt.Errorf("--clusters=%d: the demo needs a managed cluster: 1 or more", o.Clusters))
	}
	if o.Sandbox == "" {
		problems = append(problems, errors.New("--sandbox: name the path of ocm-sandbox"))
	}
	for flag, value := range map[string]*string{
		"--programs": &o.Programs, "--module": &o.Module, "--dir": &o.Dir, "--kubectl": &o.Kubectl, "--deploy": &o.Deploy, "--image-root": &o.ImageRoot,
	} {
		if *value == "" {
			problems = append(problems, fmt.Errorf("%s: name a path", flag))
			continue
		}
		absolute, err := filepath.Abs(*value)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s=%s: %w", flag, *value, err))
			continue
		}
		*value = absolute
	}
	return errors.Join(problems...)
}

func (o *Options) kubeconfig(cluster string) string {
	return filepath.Join(o.Dir, cluster+".kubeconfig")
}

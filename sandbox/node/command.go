package node

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

// errNoCommand is about a container whose pod and image both name no program.
var errNoCommand = errors.New("no command specified: neither the container nor its image names a program; set the container's command")

// commandLine is a container's argv. As in Kubernetes a container's command
// replaces the image's entrypoint and its default arguments; args alone replace
// only the latter.
func commandLine(container corev1.Container, image Image, env map[string]string) ([]string, error) {
	var argv []string
	switch {
	case len(container.Command) > 0:
		argv = append(expandAll(container.Command, env), expandAll(container.Args, env)...)
	case len(container.Args) > 0:
		argv = append(append(argv, image.Entrypoint...), expandAll(container.Args, env)...)
	default:
		argv = append(append(argv, image.Entrypoint...), image.Command...)
	}
	if len(argv) == 0 {
		return nil, errNoCommand
	}
	return argv, nil
}

func expandAll(texts []string, env map[string]string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, expand(text, env))
	}
	return out
}

package clusters

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/kind/pkg/cmd"
	load "sigs.k8s.io/kind/pkg/cmd/kind/load/docker-image"
)

// Load gives images that Docker has to the nodes of one cluster. Nodes that
// have them already are left alone.
func (s *Set) Load(ctx context.Context, name string, images ...string) error {
	command := load.NewCommand(s.log, cmd.IOStreams{Out: io.Discard, ErrOut: io.Discard})
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(append([]string{"--name", s.kindName(name)}, images...))
	if err := command.ExecuteContext(ctx); err != nil {
		return fmt.Errorf("load images into %s: %w", name, err)
	}
	return nil
}

// CollectLogs writes the logs of a cluster's nodes and of the pods on them.
func (s *Set) CollectLogs(name, dir string) error {
	if err := s.provider.CollectLogs(s.kindName(name), dir); err != nil {
		return fmt.Errorf("collect the logs of %s: %w", name, err)
	}
	return nil
}

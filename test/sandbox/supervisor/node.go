package supervisor

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// startNode starts the cluster's node and waits until it is ready.
func (s *supervisor) startNode(starting, running context.Context, group *errgroup.Group, c *member) error {
	return nil
}

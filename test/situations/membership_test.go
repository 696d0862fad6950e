//go:build situations && long

package situations

import (
	"context"
	"errors"
	"testing"
)

// notAccepted: the hub's administrator takes the acceptance of the cluster back, and
// gives it again. OCM then takes the cluster's rights on the hub away. The copies
// stay, and afterwards everything works as before.
func notAccepted(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.enabled(t)
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	c.accept(t, c.hub, false)
	eventually(t, "the hub no longer accepts the cluster", func(ctx context.Context) error {
		if c.joined(ctx) == nil {
			return errors.New("it still does")
		}
		return nil
	})
	before := c.copies(t)
	consistently(t, quiet, "the copies stay", func(ctx context.Context) error { return c.hasCopies(ctx, before) })
	c.accept(t, c.hub, true)
	renewed := c.renewal(t)
	c.put(t, "changes", "b")
	eventually(t, "the cluster is accepted again", c.joined)
	eventually(t, "a change arrives", c.working)
	eventually(t, "the registration agent works", renewed)
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// detachedAndBack: the ManagedCluster is deleted on the hub. OCM deletes the add-on
// with it, which removes its copies, as always. The cluster joins again when it is
// told to, as OCM has it: its credentials are removed and its registration agent
// started anew, which is what removing and installing the klusterlet does.
func detachedAndBack(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.deleteManagedCluster(t)
	eventually(t, "no copy and no agent is left", func(ctx context.Context) error {
		return errors.Join(c.hasCopies(ctx, map[string]map[string]string{}), c.noAgent(ctx))
	})
	c.stopRegistration(t)
	c.detach(t)
	c.startRegistration(t)
	eventually(t, "the cluster has joined again", c.joined)
	c.put(t, "stays", "b")
	c.enabled(t)
	must(t, "the copies", c.inSync(t.Context()))
}

// renamed: the cluster gets another name: it is detached under the old one, as OCM
// has it, and joins under the new one, with the ConfigMaps of the namespace of that
// name.
func renamed(t *testing.T, c *cluster) {
	c.put(t, "of-the-old-name", "a")
	c.enabled(t)
	c.deleteManagedCluster(t)
	eventually(t, "no copy is left", func(ctx context.Context) error { return c.hasCopies(ctx, map[string]map[string]string{}) })
	other := *c
	other.name = "renamed"
	c.sandbox(t, "rename $CLUSTER "+other.name)
	eventually(t, "the cluster has joined under its new name", other.joined)
	other.put(t, "of-the-new-name", "a")
	other.enabled(t)
	if _, ok := other.copies(t)["of-the-old-name"]; ok {
		t.Error("a copy from the namespace of the old name came back")
	}
}

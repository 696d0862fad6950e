//go:build situations && long

package situations

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMovesAndNames: the hub does not accept the cluster for a while, it moves, and the
// cluster gets another name. What cannot be undone comes last.
func TestMovesAndNames(t *testing.T) {
	c := load(t).clusters[0]
	for _, s := range []situation{
		{"8_the_hub_does_not_accept_the_cluster_and_accepts_it_again", notAccepted},
		{"6_the_hub_moves_to_another_URL", hubMoves},
		{"6_the_hub_has_another_certificate_authority", hubHasNewAuthority},
		{"8_the_cluster_is_renamed", renamed},
	} {
		t.Run(s.name, func(t *testing.T) { c.play(t, s) })
	}
}

// hubMoves: the hub is no longer at its URL, and a bootstrap kubeconfig with the
// other one arrives. The cluster joins there, which is the same hub, and the add-on
// follows with a new kubeconfig.
func hubMoves(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.enabled(t)
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	before := c.copies(t)
	c.sandbox(t, "cut $CLUSTER --old-url")
	t.Cleanup(func() { _, _ = c.shell(context.WithoutCancel(t.Context()), sandboxEnv, "mend $CLUSTER --old-url") })
	c.put(t, "changes", "b")
	consistently(t, quiet, "the copies stay while the hub is nowhere", func(ctx context.Context) error { return c.hasCopies(ctx, before) })
	moved := c.sandbox(t, "bootstrap $CLUSTER --moved")
	setSecret(t, c.home, c.klusterlet, bootstrapSecret, moved)
	eventually(t, "the add-on follows", c.working)
	must(t, "the add-on's kubeconfig leads to the new URL", c.follows(t.Context(), moved))
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// hubHasNewAuthority: the certificate of the hub's API server is signed by another
// authority, and all connections are closed: no agent on the cluster trusts the
// hub any more, until a bootstrap kubeconfig with the new authority arrives.
func hubHasNewAuthority(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.enabled(t)
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	before := c.copies(t)
	c.sandbox(t, "new-ca hub")
	c.sandbox(t, "restart hub/kube-apiserver")
	c.put(t, "changes", "b")
	consistently(t, quiet, "the copies stay while no agent trusts the hub", func(ctx context.Context) error { return c.hasCopies(ctx, before) })
	trusted := c.sandbox(t, "bootstrap $CLUSTER")
	setSecret(t, c.home, c.klusterlet, bootstrapSecret, trusted)
	eventually(t, "the add-on follows", c.working)
	must(t, "the add-on's kubeconfig has the new authority", c.follows(t.Context(), trusted))
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// follows checks that the add-on's kubeconfig leads to the same hub as a bootstrap
// kubeconfig.
func (c *cluster) follows(ctx context.Context, bootstrap []byte) error {
	secret, err := c.home.CoreV1().Secrets(c.install).Get(ctx, agentSecret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	want, err := addressOf(bootstrap)
	if err != nil {
		return err
	}
	got, err := addressOf(secret.Data["kubeconfig"])
	if err != nil {
		return err
	}
	if got.Server != want.Server || got.Authority != want.Authority {
		return fmt.Errorf("it leads to %s and not to %s, or has another authority", got.Server, want.Server)
	}
	return nil
}

//go:build situations && long

package situations

import (
	"context"
	"os"
	"testing"
	"time"
)

// TestSeveralHubs needs two hubs, with the add-on's controller on both.
func TestSeveralHubs(t *testing.T) {
	c := load(t).clusters[0]
	second, err := newAPI(os.Getenv("SECOND_HUB_KUBECONFIG"))
	must(t, "SECOND_HUB_KUBECONFIG", err)
	s := situation{"7_one_hub_refuses_the_cluster_and_the_other_one_dies", func(t *testing.T, c *cluster) { refused(t, c, second) }}
	t.Run(s.name, func(t *testing.T) { c.play(t, s) })
}

// refused: the first hub refuses the cluster, which goes to the second one, where
// the add-on takes over; then the second one dies, and the cluster goes back. A copy
// of which both hubs have the source is never deleted, and one of which the second
// hub has none goes only once that hub was read.
//
// What OCM does: at a refusal the registration agent ends, and chooses another hub
// when it is started again. It notices that a hub is dead when its lease there is
// 90 s old (hub-connection-timeout-seconds, as the sandbox sets it); it looks once
// a minute.
func refused(t *testing.T, c *cluster, second api) {
	onSecond := *c
	onSecond.hub = second
	c.put(t, "on-both", "first")
	c.put(t, "on-the-first-alone", "first")
	c.enabled(t)
	onSecond.expect(t, second)
	onSecond.put(t, "on-both", "second")
	onSecond.put(t, "on-the-second-alone", "second")
	onSecond.enable(t)
	deleted := c.watchDeletions(t)

	start := time.Now()
	c.accept(t, c.hub, false)
	eventually(t, "the cluster has joined the second hub", onSecond.joined)
	t.Logf("refused → joined the second hub: %s", time.Since(start).Round(100*time.Millisecond))
	eventually(t, "the add-on there has taken over", onSecond.working)
	t.Logf("refused → the copies are the second hub's: %s", time.Since(start).Round(100*time.Millisecond))
	requireDeleted(t, deleted, "on-the-first-alone")

	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	c.accept(t, c.hub, true)
	renewed := c.renewal(t)
	c.sandbox(t, "stop hub2/kube-apiserver")
	t.Cleanup(func() { _, _ = c.shell(context.WithoutCancel(t.Context()), sandboxEnv, "start hub2/kube-apiserver") })
	before := c.copies(t)
	start = time.Now()
	eventually(t, "the cluster is back on the first hub", func(ctx context.Context) error {
		err := renewed(ctx)
		if changed := c.hasCopies(ctx, before); err != nil && changed != nil && renewed(ctx) != nil {
			t.Errorf("copies changed while the cluster had no hub: %v", changed)
		}
		return err
	})
	eventually(t, "the add-on of the first hub has taken over", c.working)
	t.Logf("the second hub dead → the copies are the first one's: %s", time.Since(start).Round(100*time.Millisecond))
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted, "on-the-second-alone")
	c.sandbox(t, "start hub2/kube-apiserver")
}

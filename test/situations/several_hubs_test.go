//go:build situations && long

package situations

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ofSecondHub is the second bootstrap kubeconfig, as the sandbox and ocm-kind name its Secret.
var ofSecondHub = bootstrap{secret: bootstrapSecret + "-hub2", hub: "hub2"}

// sameWithSeveralHubs are the situations in which a second bootstrap kubeconfig changes nothing.
var sameWithSeveralHubs = []situation{
	{first, joins},
	{second, restarts},
	{"hub_kubeconfig_invalid_files", filesInvalid},
	{"hub_kubeconfig_invalid_address", addressInvalid},
	{"hub_kubeconfig_invalid_key_missing", keyMissing},
	{"hub_kubeconfig_unparsable", hubKubeconfigUnparsable},
	{"restart_when_the_bootstrap_kubeconfig_changes", bootstrapChanges},
	{"restart_when_the_certificate_expires", certificateExpires},
	{third + string(missing), bootstrapInvalid(missing)},
	{"8_the_cluster_is_detached_and_joins_again", detachedAndBack},
}

// TestSeveralHubs needs two hubs, with the add-on's controller on both.
func TestSeveralHubs(t *testing.T) {
	c := load(t).clusters[0]
	hub2, err := newAPI(os.Getenv("SECOND_HUB_KUBECONFIG"))
	must(t, "SECOND_HUB_KUBECONFIG", err)
	on := func(run func(*testing.T, *cluster, api)) func(*testing.T, *cluster) {
		return func(t *testing.T, c *cluster) { run(t, c, hub2) }
	}
	situations := slices.Concat(sameWithSeveralHubs, settings)
	for _, how := range []flaw{expiredUser, unknownUser, unparsable} {
		situations = append(situations, situation{third + string(how) + "_of_each_hub", noBootstrapValid(how)})
	}
	for _, how := range []flaw{expiredUser, unknownUser, unparsable, missing} {
		situations = append(situations, situation{fourth + string(how) + "_of_each_hub", noneValid(how)})
	}
	situations = append(situations, situation{first + "_of_the_first_hub_" + string(missing), firstMissing})
	// These visit the second hub. The reset after each takes the time until the work agent removes
	// what it applied for the second hub.
	for _, how := range []flaw{expiredUser, unknownUser, unparsable} {
		situations = append(situations, situation{first + "_of_the_first_hub_" + string(how),
			on(func(t *testing.T, c *cluster, hub2 api) { joinsTheSecondHub(t, c, hub2, how) })})
	}
	situations = append(situations,
		situation{third + "of_the_first_hub_invalid", on(movesToTheSecondHub)},
		situation{"7_one_hub_refuses_the_cluster_and_the_other_one_dies", on(refused)})
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) { c.play(t, s) })
	}
}

// onSecondHub returns the cluster as the second hub has it: accepted, with the add-on and ConfigMaps
// of its own.
func (c *cluster) onSecondHub(t *testing.T, hub2 api) *cluster {
	t.Helper()
	there := *c
	there.hub = hub2
	_, err := hub2.dynamic.Resource(clusterResource).Get(t.Context(), c.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		there.expect(t)
	} else {
		must(t, "get the ManagedCluster of the second hub", err)
		there.accept(t, hub2, true)
	}
	there.put(t, "on-both", "second")
	there.put(t, "on-the-second-alone", "second")
	there.enable(t)
	return &there
}

// arrival returns a check that the cluster has joined its hub since now.
func (c *cluster) arrival(t *testing.T) check {
	t.Helper()
	renewed := c.renewal(t)
	return func(ctx context.Context) error { return errors.Join(renewed(ctx), c.joined(ctx)) }
}

// leave lets the cluster's hub refuse the cluster, which goes to the hub next.
func (c *cluster) leave(t *testing.T, next *cluster) {
	t.Helper()
	arrived := next.arrival(t)
	c.accept(t, c.hub, false)
	eventually(t, "the cluster has joined the other hub", arrived)
	eventually(t, "the add-on there has taken over", next.working)
}

// joinsTheSecondHub: there is no hub kubeconfig yet, and the first bootstrap kubeconfig has a flaw.
// The cluster joins the second hub, and stays there when the first bootstrap kubeconfig is repaired.
func joinsTheSecondHub(t *testing.T, c *cluster, hub2 api, how flaw) {
	there := c.onSecondHub(t, hub2)
	c.stopRegistration(t)
	c.detach(t)
	repair := c.spoil(t, ofFirstHub, how)
	arrived := there.arrival(t)
	c.startRegistration(t)
	eventually(t, "the cluster has joined the second hub", arrived)
	eventually(t, "the add-on there works", there.working)
	c.staysAfter(t, repair, there)

	c.expect(t)
	c.put(t, "on-both", "first")
	c.enable(t)
	there.leave(t, c)
}

// movesToTheSecondHub: the cluster has joined the first hub, whose bootstrap kubeconfig gets one
// flaw after the other. v1.2.1 does not go on with the hub kubeconfig, which is valid: the cluster
// joins the second hub, and the add-on there takes over. A copy of which both hubs have the source
// is never deleted. Repairing the bootstrap kubeconfig does not bring the cluster back; a refusal by
// the second hub does.
func movesToTheSecondHub(t *testing.T, c *cluster, hub2 api) {
	c.put(t, "on-both", "first")
	c.put(t, "on-the-first-alone", "first")
	c.enabled(t)
	for _, how := range []flaw{expiredUser, unknownUser, unparsable} {
		t.Run(string(how), func(t *testing.T) {
			there := c.onSecondHub(t, hub2)
			deleted, arrived, start := c.watchDeletions(t), there.arrival(t), time.Now()
			repair := c.spoil(t, ofFirstHub, how)
			eventually(t, "the cluster has joined the second hub", arrived)
			t.Logf("%s → joined the second hub: %s", how, time.Since(start).Round(100*time.Millisecond))
			eventually(t, "the add-on there has taken over", there.working)
			requireDeleted(t, deleted, "on-the-first-alone")

			undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
			c.staysAfter(t, repair, there)
			there.leave(t, c)
			must(t, "the add-on's agent is left alone", undisturbed(t.Context()))
			requireDeleted(t, deleted, "on-the-second-alone")
		})
	}
}

// staysAfter checks that the registration agent restarts when the first bootstrap kubeconfig is
// repaired, and that the cluster stays on the hub where it is.
func (c *cluster) staysAfter(t *testing.T, repair func(), there *cluster) {
	t.Helper()
	replaced, goesOn, returned := c.replaced(t), there.renewal(t), c.renewal(t)
	repair()
	eventually(t, "the registration agent restarts", replaced)
	eventually(t, "the cluster goes on with the second hub", goesOn)
	consistently(t, quiet, "it stays there", func(ctx context.Context) error {
		return not(returned(ctx), "the cluster is back on the first hub")
	})
}

// noBootstrapValid: the cluster has joined the first hub, and both bootstrap kubeconfigs get a flaw.
// The registration agent of v1.2.1 notices a change of the first one alone. It then keeps ending
// although the hub kubeconfig is valid, until one of them is repaired.
func noBootstrapValid(how flaw) func(*testing.T, *cluster) {
	return func(t *testing.T, c *cluster) {
		c.put(t, "stays", "a")
		c.enabled(t)
		c.through(t, func() {
			repairSecond := c.spoilUnnoticed(t, ofSecondHub, how)
			var repairFirst func()
			renewed := c.keepsEndingAfter(t, func() { repairFirst = c.spoil(t, ofFirstHub, how) })
			c.put(t, "changes", "b")
			eventually(t, "a change arrives", c.working)
			consistently(t, quiet, "the cluster is away", func(ctx context.Context) error { return not(renewed(ctx), "the cluster is back") })
			repairFirst()
			eventually(t, "the registration agent works", renewed)
			repairSecond()
		})
	}
}

// spoilUnnoticed spoils a bootstrap kubeconfig whose Secret the registration agent does not watch.
func (c *cluster) spoilUnnoticed(t *testing.T, of bootstrap, how flaw) (repair func()) {
	t.Helper()
	notReplaced := c.notReplaced(t)
	repair = c.spoil(t, of, how)
	consistently(t, quiet, "the registration agent does not restart", notReplaced)
	return repair
}

// noneValid: both bootstrap kubeconfigs have a flaw and there is no hub kubeconfig. The cluster
// stays out, and the add-on works with its own certificate. One valid bootstrap kubeconfig is
// enough, unless another one is missing.
func noneValid(how flaw) func(*testing.T, *cluster) {
	return func(t *testing.T, c *cluster) {
		c.put(t, "stays", "a")
		c.enabled(t)
		c.through(t, func() {
			c.stopRegistration(t)
			c.removeUsedRequests(t)
			repairFirst, repairSecond := c.spoil(t, ofFirstHub, how), c.spoil(t, ofSecondHub, how)
			c.deleteHubKubeconfig(t)
			renewed := c.renewal(t)
			ending, awaitStart := c.keepsEnding(t), c.startLater(t)
			if how == missing {
				consistently(t, quiet, "a new pod of the registration agent waits for the Secrets", c.noProcess)
				repairSecond()
				consistently(t, quiet, "it waits for each of them", c.noProcess)
			} else {
				eventually(t, "the registration agent keeps ending", ending)
			}
			c.put(t, "changes", "b")
			eventually(t, "a change arrives", c.working)
			must(t, "the cluster stays out", errors.Join(
				not(renewed(t.Context()), "it is back"), not(c.asksAnew(t.Context()), "it has asked for a certificate")))
			repairFirst()
			awaitStart()
			eventually(t, "the cluster is back", func(ctx context.Context) error { return errors.Join(c.joined(ctx), renewed(ctx)) })
			repairSecond()
		})
	}
}

// firstMissing: there is no hub kubeconfig yet, and the first bootstrap kubeconfig is missing. The
// cluster does not join the second hub: the registration agent's pod waits for each Secret.
func firstMissing(t *testing.T, c *cluster) {
	c.stopRegistration(t)
	c.detach(t)
	repair := c.spoil(t, ofFirstHub, missing)
	awaitStart := c.startLater(t)
	consistently(t, 2*quiet, "the pod of the registration agent waits for the Secret", c.noProcess)
	repair()
	awaitStart()
	eventually(t, "the cluster has joined the first hub", c.joined)
	c.put(t, "stays", "a")
	c.enabled(t)
}

// refused: the first hub refuses the cluster, which goes to the second one, where
// the add-on takes over; then the second one dies, and the cluster goes back. A copy
// of which both hubs have the source is never deleted, and one of which the second
// hub has none goes only once that hub was read.
//
// What OCM does: at a refusal the registration agent ends, and chooses another hub
// when it is started again. It notices that a hub is dead when its lease there is
// 90 s old (hub-connection-timeout-seconds, as on-sandbox and on-clusters set it); it looks once
// a minute.
func refused(t *testing.T, c *cluster, hub2 api) {
	there := c.onSecondHub(t, hub2)
	c.put(t, "on-both", "first")
	c.put(t, "on-the-first-alone", "first")
	c.enabled(t)
	deleted, start := c.watchDeletions(t), time.Now()
	c.leave(t, there)
	t.Logf("refused → the copies are the second hub's: %s", time.Since(start).Round(100*time.Millisecond))
	requireDeleted(t, deleted, "on-the-first-alone")

	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	c.accept(t, c.hub, true)
	renewed := c.renewal(t)
	c.command(t, stopHubEnv, "")
	t.Cleanup(func() { _, _ = c.shell(context.WithoutCancel(t.Context()), startHubEnv, "") })
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
	c.command(t, startHubEnv, "")
}

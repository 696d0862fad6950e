//go:build situations

package situations

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// joins: the bootstrap kubeconfig is valid, and there is no hub kubeconfig yet. The
// cluster joins, and the add-on works, whether it was enabled before or after.
func joins(t *testing.T, c *cluster) {
	c.stopRegistration(t)
	c.detach(t)
	c.expect(t)
	c.put(t, "before-the-join", "a")
	c.enable(t)
	c.startRegistration(t)
	c.provideManagedKubeconfig(t)
	eventually(t, "the cluster has joined", c.joined)
	eventually(t, "the add-on enabled before the join works", c.working)
	undisturbed := c.undisturbed(t)
	c.put(t, "after-the-join", "b")
	eventually(t, "a ConfigMap written after the join", c.working)
	must(t, "the agent is left alone", undisturbed(t.Context()))

	c.disable(t)
	c.stopRegistration(t)
	c.detach(t)
	c.startRegistration(t)
	eventually(t, "the cluster has joined again", c.joined)
	c.put(t, "after-the-join", "c")
	c.enabled(t)
}

// restarts: both kubeconfigs are valid, and the registration agent is restarted,
// then the add-on's agent, then both. No new certificate is
// requested, and changes on the hub in the meantime arrive.
func restarts(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.put(t, "goes", "a")
	c.enabled(t)
	eventually(t, "the add-on is available", c.available)
	ofCluster, ofAddOn := c.credentials(t)
	noRequest := c.noRequest(t)
	deleted := c.watchDeletions(t)

	undisturbed := c.undisturbed(t)
	c.stopRegistration(t)
	c.put(t, "changes", "b")
	eventually(t, "a change while there is no registration agent", c.working)
	renewed := c.renewal(t)
	c.startRegistration(t)
	eventually(t, "the restarted registration agent works", renewed)
	must(t, "the add-on's agent is left alone", undisturbed(t.Context()))

	c.replaceAgent(t)
	c.put(t, "changes", "c")
	eventually(t, "a change while there was no agent", c.working)

	c.stopRegistration(t)
	c.replaceAgent(t)
	c.put(t, "changes", "d")
	c.drop(t, "goes")
	renewed = c.renewal(t)
	c.startRegistration(t)
	eventually(t, "both work again", func(ctx context.Context) error { return errors.Join(renewed(ctx), c.working(ctx)) })

	clusterNow, addOnNow := c.credentials(t)
	if !clusterNow.Equal(ofCluster) || !addOnNow.Equal(ofAddOn) {
		t.Error("there is a new certificate after a restart")
	}
	must(t, "no certificate is requested after a restart", noRequest(t.Context()))
	requireDeleted(t, deleted, "goes")
	must(t, "the add-on is available", c.available(t.Context()))
}

// bootstrapInvalid: the bootstrap kubeconfig has a flaw, the hub kubeconfig is valid.
// Everything goes on, and the add-on still gets a new certificate. Where v1.2.1 does not
// go on, the add-on works with its own certificate until the bootstrap kubeconfig is
// repaired.
func bootstrapInvalid(how flaw) func(*testing.T, *cluster) {
	switch how {
	case missing:
		return bootstrapMissing
	case unparsable:
		return bootstrapUnparsable
	}
	return func(t *testing.T, c *cluster) {
		c.put(t, "stays", "a")
		c.enabled(t)
		c.through(t, func() {
			var repair func()
			c.restartsOnce(t, func() { repair = c.spoil(t, ofFirstHub, how) })
			c.worksOn(t)
			c.restartsOnce(t, repair)
		})
	}
}

// worksOn checks that changes are copied and that the add-on gets a new certificate.
func (c *cluster) worksOn(t *testing.T) {
	t.Helper()
	_, before := c.credentials(t)
	c.put(t, "changes", "b")
	eventually(t, "a change arrives", c.working)
	c.removeCertificate(t)
	eventually(t, "the add-on has a new certificate", c.reissued(before))
	c.put(t, "changes", "c")
	eventually(t, "a change arrives with it", c.working)
}

// bootstrapMissing: the registration agent restarts in its pod, which keeps the file, and
// goes on. A new pod does not start without the Secret.
func bootstrapMissing(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.through(t, func() {
		var repair func()
		c.restartsOnce(t, func() { repair = c.spoil(t, ofFirstHub, missing) })
		c.worksOn(t)

		c.stopRegistration(t)
		renewed := c.renewal(t)
		awaitStart := c.startLater(t)
		c.put(t, "changes", "d")
		eventually(t, "a change arrives", c.working)
		consistently(t, 2*quiet, "a new pod waits for the Secret", c.noProcess)
		repair()
		awaitStart()
		eventually(t, "the registration agent works", renewed)
	})
}

// bootstrapUnparsable: the registration agent of v1.2.1 keeps ending. A bootstrap
// kubeconfig that parses is enough for it to go on, even an expired one.
func bootstrapUnparsable(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.through(t, func() {
		good := c.bootstrapKubeconfig(t, ofFirstHub)
		var repair func()
		renewed := c.keepsEndingAfter(t, func() { repair = c.spoil(t, ofFirstHub, unparsable) })
		c.put(t, "changes", "b")
		eventually(t, "a change arrives", c.working)
		consistently(t, quiet, "the cluster is away", func(ctx context.Context) error { return not(renewed(ctx), "the cluster is back") })
		setSecret(t, c.home, c.klusterlet, bootstrapSecret, c.spoilt(t, ofFirstHub, good, expiredUser))
		eventually(t, "the registration agent works", renewed)
		c.worksOn(t)
		// in a new pod, since the present one is restarted with a delay
		c.stopRegistration(t)
		repair()
		renewed = c.renewal(t)
		c.startRegistration(t)
		eventually(t, "the registration agent works with the good one", renewed)
	})
}

// removeCertificate takes the certificate out of the add-on's secret, so that the
// registration agent asks for another one, as it does when less than a quarter of
// its life is left.
func (c *cluster) removeCertificate(t *testing.T) {
	t.Helper()
	_, err := c.home.CoreV1().Secrets(c.install).Patch(t.Context(), agentSecret, types.JSONPatchType,
		[]byte(`[{"op":"remove","path":"/data/`+corev1.TLSCertKey+`"}]`), metav1.PatchOptions{})
	must(t, "remove the add-on's certificate", err)
}

// neitherValid: the bootstrap kubeconfig has a flaw and there is no hub kubeconfig.
// The cluster stays out; as long as the add-on has its own certificate, it works,
// and without that the copies stay as they are, also over a restart of the agent.
// A valid bootstrap kubeconfig is all that is needed for everything to recover.
func neitherValid(how flaw) func(*testing.T, *cluster) {
	return func(t *testing.T, c *cluster) { neitherIsValid(t, c, how) }
}

func neitherIsValid(t *testing.T, c *cluster, how flaw) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.put(t, "goes", "a")
	c.enabled(t)
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)

	c.stopRegistration(t)
	c.removeUsedRequests(t)
	repair := c.spoil(t, ofFirstHub, how)
	c.deleteHubKubeconfig(t)
	awaitStart := c.startLater(t)
	c.put(t, "changes", "b")
	eventually(t, "the add-on works with its own certificate", c.working)
	must(t, "the agent is left alone", undisturbed(t.Context()))

	must(t, "delete the add-on's credentials", c.home.CoreV1().Secrets(c.install).Delete(t.Context(), agentSecret, metav1.DeleteOptions{}))
	c.replaceAgent(t)
	eventually(t, "an agent without credentials runs and is not ready", c.notReady)
	before := c.copies(t)
	c.put(t, "changes", "c")
	c.drop(t, "goes")
	renewed := c.renewal(t)
	staysOut := func(ctx context.Context) error {
		return errors.Join(not(renewed(ctx), "the cluster is back"), not(c.asksAnew(ctx), "the cluster has asked for a certificate"),
			c.hasCopies(ctx, before), c.notReady(ctx))
	}
	switch how {
	case missing:
		consistently(t, quiet, "a new pod of the registration agent waits for the Secret", c.noProcess)
	case unparsable:
		eventually(t, "the registration agent keeps ending", c.keepsEnding(t))
	}
	consistently(t, quiet, "the cluster stays out, and the copies stay", staysOut)
	undisturbed = c.undisturbed(t)

	repair()
	awaitStart()
	eventually(t, "the cluster is back", func(ctx context.Context) error { return errors.Join(c.joined(ctx), renewed(ctx)) })
	eventually(t, "the add-on works", c.working)
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted, "goes")
}

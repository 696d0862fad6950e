//go:build situations && long

package situations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestExpiry needs a hub that signs certificates that live for a few minutes.
func TestExpiry(t *testing.T) {
	c := load(t).clusters[0]
	for _, s := range []situation{
		{"5_both_certificates_expire_while_the_cluster_is_cut_off", expiresCutOff},
		{"5_the_certificate_is_renewed_before_it_expires", renewedInTime},
	} {
		t.Run(s.name, func(t *testing.T) { c.play(t, s) })
	}
}

// expiresCutOff: the network between the cluster and its hub is broken until the
// cluster's certificate and the add-on's have expired. The copies stay as they are,
// and when the cluster comes back, everything that has changed arrives.
//
// What OCM does: the registration agent's health check fails when its certificate
// has expired, so that the kubelet (here: the sandbox, with the same probe) restarts
// it; it then joins anew with its bootstrap kubeconfig, and asks for a certificate
// for the add-on when it has its own.
func expiresCutOff(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.put(t, "changes", "a")
	c.put(t, "goes", "a")
	c.freshCertificates(t)
	c.enabled(t)
	undisturbed, deleted, ended := c.undisturbed(t), c.watchDeletions(t), c.watchEnds(t)
	before := c.copies(t)

	c.sandbox(t, "cut $CLUSTER")
	t.Cleanup(func() { _, _ = c.shell(context.WithoutCancel(t.Context()), sandboxEnv, "mend $CLUSTER") })
	c.put(t, "changes", "b")
	c.put(t, "comes", "b")
	c.drop(t, "goes")
	ofCluster, ofAddOn := c.credentials(t)
	eventually(t, "both certificates have expired", func(ctx context.Context) error {
		return errors.Join(expired(ofCluster), expired(ofAddOn), c.hasCopies(ctx, before))
	})
	consistently(t, quiet, "the copies stay", func(ctx context.Context) error { return c.hasCopies(ctx, before) })
	renewed := c.renewal(t)
	eventually(t, "the registration agent has ended because of its health check", func(ctx context.Context) error {
		causes, err := ended(ctx)
		if err == nil && !slices.ContainsFunc(causes, byHealthCheck) {
			err = fmt.Errorf("it ended %d times: %s", len(causes), causes)
		}
		return err
	})

	c.sandbox(t, "mend $CLUSTER")
	back := time.Now()
	eventually(t, "the cluster is back", renewed)
	t.Logf("the network is whole → the cluster is back: %s", time.Since(back).Round(100*time.Millisecond))
	eventually(t, "the add-on has a new certificate", c.reissued(ofAddOn))
	t.Logf("the network is whole → the add-on has a certificate: %s", time.Since(back).Round(100*time.Millisecond))
	eventually(t, "everything that has changed arrives", c.working)
	t.Logf("the network is whole → everything has arrived: %s", time.Since(back).Round(100*time.Millisecond))
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted, "goes")
}

// renewedInTime: when the registration agent looks at the add-on's certificate and
// less than a quarter of its life is left, it renews it. It looks every 5 minutes,
// and whenever the secret changes, which is what the test makes it do.
func renewedInTime(t *testing.T, c *cluster) {
	c.put(t, "changes", "a")
	c.freshCertificates(t)
	c.enabled(t)
	undisturbed, deleted := c.undisturbed(t), c.watchDeletions(t)
	_, before := c.credentials(t)
	eventually(t, "the add-on's certificate is renewed", func(ctx context.Context) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"looked-at":%q}}}`, time.Now().Format(time.RFC3339))
		_, err := c.home.CoreV1().Secrets(c.install).Patch(ctx, agentSecret, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		if err := expired(before); err == nil {
			t.Fatal("the certificate expired before it was renewed")
		}
		return c.reissued(before)(ctx)
	})
	eventually(t, "the first certificate has expired, and the agent works with the second one", func(context.Context) error { return expired(before) })
	c.put(t, "changes", "b")
	eventually(t, "a change arrives", c.inSync)
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// freshCertificates makes the cluster join anew, so that its certificate has its
// whole life before it.
func (c *cluster) freshCertificates(t *testing.T) {
	t.Helper()
	c.stopRegistration(t)
	c.deleteHubKubeconfig(t)
	c.removeUsedRequests(t)
	renewed := c.renewal(t)
	c.startRegistration(t)
	eventually(t, "the cluster is back", renewed)
}

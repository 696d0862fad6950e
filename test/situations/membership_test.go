//go:build situations && long

package situations

import (
	"context"
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	eventually(t, "the cluster has no rights on the hub any more", func(ctx context.Context) error {
		if c.hasRights(ctx) == nil {
			return errors.New("it still may renew its lease")
		}
		return nil
	})
	before := c.copies(t)
	consistently(t, quiet, "the copies stay", func(ctx context.Context) error { return c.hasCopies(ctx, before) })
	c.accept(t, c.hub, true)
	renewed := c.renewal(t)
	c.put(t, "changes", "b")
	eventually(t, "the cluster has its rights again", c.hasRights)
	eventually(t, "a change arrives", c.working)
	eventually(t, "the registration agent works, which renews its lease once a minute", renewed)
	eventually(t, "the cluster is accepted and available", c.joined)
	must(t, "the agent is left alone", undisturbed(t.Context()))
	requireDeleted(t, deleted)
}

// hasRights is nil when the cluster's registration agent may renew its lease on the
// hub.
func (c *cluster) hasRights(ctx context.Context) error {
	group := "system:open-cluster-management:" + c.name
	review, err := c.hub.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: group + ":agent", Groups: []string{group, "system:open-cluster-management:managed-clusters"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.name, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: clusterLease}},
	}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		err = errors.New("it may not renew its lease")
	}
	return err
}

// detachedAndBack: the ManagedCluster is deleted on the hub. OCM deletes the add-on
// with it, which removes its copies, as always. The registration agent creates no
// ManagedCluster while its hub kubeconfig is valid, also not after a restart. The cluster
// joins again when it is told to, as OCM has it: its credentials are removed and its
// registration agent started anew, which is what removing and installing the klusterlet does.
func detachedAndBack(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	c.enabled(t)
	c.deleteManagedCluster(t)
	eventually(t, "no copy and no agent is left", func(ctx context.Context) error {
		return errors.Join(c.hasCopies(ctx, map[string]map[string]string{}), c.noAgent(ctx))
	})
	c.stopRegistration(t)
	c.startRegistration(t)
	consistently(t, 2*quiet, "the cluster stays detached", func(ctx context.Context) error {
		_, err := c.hub.dynamic.Resource(clusterResource).Get(ctx, c.name, metav1.GetOptions{})
		return gone("ManagedCluster", err)
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

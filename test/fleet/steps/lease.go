package steps

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// setLeases sets the period with which OCM's agents renew the leases of their clusters, two requests each. An agent renews its
// lease when the period changes, and then after it or up to a quarter later. Clusters that join later keep OCM's period.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/lease/lease_controller.go
func (f *Fleet) setLeases(ctx context.Context) error {
	if f.Lease == 0 {
		return nil
	}
	f.say("the leases of the clusters are renewed every %s", f.Lease)
	patch := fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, int(f.Lease.Seconds()))
	_, err := each(ctx, f.Clusters, func(ctx context.Context, cluster string) error {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		if _, err := f.dynamic.Resource(clusters).Patch(ctx, cluster, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("set the period of the lease of %s: %w", cluster, err)
		}
		return nil
	})
	return err
}

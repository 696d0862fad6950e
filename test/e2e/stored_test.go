//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/stored"
)

// The controller reads ManagedClusterAddOns in the version that the hub stores, and
// converts them itself. That gives what the hub's webhook gives, for add-ons that real
// controllers have written.
func storedIsConverted(t *testing.T, env *environment) {
	for _, c := range []*cluster{env.first(), env.second()} {
		eventually(t, "the same add-on from both", func(ctx context.Context) error {
			from, err := env.hub.addon.AddonV1alpha1().ManagedClusterAddOns(c.name).Get(ctx, "helloworld", metav1.GetOptions{})
			if err != nil {
				return err
			}
			want, err := env.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Get(ctx, "helloworld", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if from.ResourceVersion != want.ResourceVersion {
				return fmt.Errorf("it changed from version %s to %s meanwhile", from.ResourceVersion, want.ResourceVersion)
			}
			var got addonv1beta1.ManagedClusterAddOn
			if err := stored.Convert(from, &got); err != nil {
				return err
			}
			want.TypeMeta = got.TypeMeta // a client leaves it empty
			if diff := cmp.Diff(want, &got); diff != "" {
				return fmt.Errorf("converted (-by the hub +by the controller):\n%s", diff)
			}
			return nil
		})
	}
}

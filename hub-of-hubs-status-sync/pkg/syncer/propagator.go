package syncer

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

const (
	// propagatorPeriod is the time between two looks for a policy propagator.
	propagatorPeriod = 10 * time.Minute
	// propagatorLabel and its value mark the policy propagator's Deployment.
	propagatorLabel, propagatorComponent = "component", "ocm-policy-propagator"
	// propagatorCommand prints the policy propagator's image, as docs/install.md explains.
	propagatorCommand = "kubectl get deployment -l " + propagatorLabel + "=" + propagatorComponent +
		" -n open-cluster-management -o jsonpath='{.items[*].spec.template.spec.containers[*].image}'"
	// propagatorImage is the one that writes no status.
	propagatorImage = "quay.io/open-cluster-management-hub-of-hubs/governance-policy-propagator:" + plan.NoStatusTag
)

// propagatorCheck looks for a policy propagator in the program's namespace that writes the status of policies, which the
// status sync writes as well. It is a Runnable of the leader.
type propagatorCheck struct {
	reader    client.Reader
	namespace string
	clock     clock.Clock
}

// Start looks until ctx ends. It logs what it finds once, and again when that changes.
func (c *propagatorCheck) Start(ctx context.Context) error {
	for before := ""; ; {
		found, err := c.writing(ctx)
		if err != nil {
			// The right may be missing: the original's users may have given fewer.
			klog.FromContext(ctx).V(2).Info("Looking for a policy propagator failed", "namespace", c.namespace, "err", err)
		} else if now := strings.Join(found, ", "); now != before {
			before = now
			propagatorWrites.Set(float64(min(len(found), 1)))
			if len(found) > 0 {
				klog.FromContext(ctx).Info("The policy propagator writes the status of policies as well: set its image to one that does not",
					"namespace", c.namespace, "found", now, "image", propagatorImage, "check", propagatorCommand)
			}
		}
		if !retry.Sleep(ctx, c.clock, propagatorPeriod) {
			return nil
		}
	}
}

// writing returns the images of the propagators that write a status, each with its Deployment.
func (c *propagatorCheck) writing(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var propagators appsv1.DeploymentList
	if err := c.reader.List(ctx, &propagators, client.InNamespace(c.namespace), client.MatchingLabels{propagatorLabel: propagatorComponent}); err != nil {
		return nil, err
	}
	var found []string
	for _, propagator := range propagators.Items {
		if plan.WritesStatus(propagator) {
			found = append(found, propagator.Name+": "+strings.Join(plan.Images(propagator), " "))
		}
	}
	return found, nil
}

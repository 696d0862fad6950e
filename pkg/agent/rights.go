package agent

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

const (
	// rightsTimeout bounds the question to the managed cluster.
	rightsTimeout = 30 * time.Second
	// eventUnlimitedRights is the reason of the Event about a managed kubeconfig
	// that may do everything.
	eventUnlimitedRights = "ManagedKubeconfigMayDoEverything"
)

// warnOfRights warns of a kubeconfig of the managed cluster that may do everything
// there: it is stored on another cluster, and the agent needs ConfigMaps in one
// namespace. write, where not nil, writes an event. Nothing depends on the answer,
// so that a cluster that gives none is no failure.
func (a *agent) warnOfRights(ctx context.Context, write func(kind, reason, message string)) {
	if !a.options.Hosted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}}}
	answer, err := a.managed.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		logger.V(2).Info("Cannot ask the managed cluster what the agent may do there", "reason", err.Error())
	case answer.Status.Allowed:
		message := fmt.Sprintf("the kubeconfig in Secret %s/%s may do everything on the managed cluster: "+
			"replace it by one with the token of ServiceAccount %s/%s there",
			a.options.Namespace, manifests.ManagedKubeconfigSecret, a.options.Namespace, manifests.AgentServiceAccount)
		logger.Info("The managed cluster's kubeconfig has more rights than the agent needs", "detail", message)
		if write != nil {
			write(corev1.EventTypeWarning, eventUnlimitedRights, message)
		}
	}
}

package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workclientv1 "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
)

// heldWorks is the client of addon-framework, which writes on each ManifestWork
// at once the annotation by which OCM's add-on manager takes a cluster for done.
// OCM looks only at whether the Deployment exists, so that a rollout would go on
// over agents that do not start. Here the annotation is held back; package rollout
// writes it when the agent runs.
type heldWorks struct {
	workclient.Interface
	cached worklisters.ManifestWorkLister
}

// WorkV1 returns the client of the API's version v1.
func (c heldWorks) WorkV1() workclientv1.WorkV1Interface {
	return heldWorksV1{c.Interface.WorkV1(), c.cached}
}

type heldWorksV1 struct {
	workclientv1.WorkV1Interface
	cached worklisters.ManifestWorkLister
}

// ManifestWorks returns the client of a namespace's works.
func (c heldWorksV1) ManifestWorks(namespace string) workclientv1.ManifestWorkInterface {
	return heldWorksOf{c.WorkV1Interface.ManifestWorks(namespace), c.cached.ManifestWorks(namespace)}
}

type heldWorksOf struct {
	workclientv1.ManifestWorkInterface
	cached worklisters.ManifestWorkNamespaceLister
}

// Create creates the work without the annotation.
func (c heldWorksOf) Create(ctx context.Context, work *workv1.ManifestWork, options metav1.CreateOptions) (*workv1.ManifestWork, error) {
	return c.ManifestWorkInterface.Create(ctx, plan.HoldNew(work), options)
}

// Patch patches the work without the annotation. A patch of nothing else is not
// sent.
func (c heldWorksOf) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (*workv1.ManifestWork, error) {
	held, changes, err := plan.Hold(patch)
	if err != nil {
		return nil, err
	}
	if changes {
		return c.ManifestWorkInterface.Patch(ctx, name, kind, held, options, subresources...)
	}
	work, err := c.cached.Get(name)
	return work.DeepCopy(), err
}

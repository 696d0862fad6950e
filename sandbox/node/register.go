package node

import (
	"context"
	"fmt"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// registration keeps the node object and its lease.
type registration struct {
	client     kubernetes.Interface
	name       string
	controller *vknode.NodeController
}

// newRegistration makes virtual-kubelet's node controller. Somebody may delete
// the node object: then it is made again.
func newRegistration(client kubernetes.Interface, object *corev1.Node) (*registration, error) {
	nodes := client.CoreV1().Nodes()
	again := object.DeepCopy()
	controller, err := vknode.NewNodeController(vknode.NaiveNodeProvider{}, object, nodes,
		vknode.WithNodeEnableLeaseV1(nodeutil.NodeLeaseV1Client(client), vknode.DefaultLeaseDuration),
		vknode.WithNodeStatusUpdateErrorHandler(func(ctx context.Context, err error) error {
			if !apierrors.IsNotFound(err) {
				return err
			}
			_, err = nodes.Create(ctx, again.DeepCopy(), metav1.CreateOptions{})
			return err
		}))
	if err != nil {
		return nil, fmt.Errorf("create the node controller: %w", err)
	}
	return &registration{client: client, name: object.Name, controller: controller}, nil
}

// registerRetry is how often an API server that does not answer is asked again.
const registerRetry = 500 * time.Millisecond

// run registers the node and keeps it registered until ctx ends.
func (r *registration) run(ctx context.Context) error {
	// virtual-kubelet gives up for good when its first attempt fails
	err := wait.PollUntilContextCancel(ctx, registerRetry, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		_, err := r.client.CoreV1().Nodes().Get(ctx, r.name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "The node cannot be registered yet")
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return nil // the node ends
	}
	if err := r.controller.Run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("register node %s: %w", r.name, err)
	}
	return nil
}

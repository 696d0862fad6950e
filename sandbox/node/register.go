package node

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// registration maintains the Node object and its Lease.
type registration struct {
	client     kubernetes.Interface
	name       string
	controller *vknode.NodeController
}

// newRegistration returns a registration of virtual-kubelet's node controller. A
// Node object that a user deletes is created again.
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

// registerRetry is the period between attempts to reach the API server.
const registerRetry = 500 * time.Millisecond

// run registers the node and keeps it registered until ctx ends.
func (r *registration) run(ctx context.Context) error {
	// virtual-kubelet does not retry when its first attempt fails
	err := wait.PollUntilContextCancel(ctx, registerRetry, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		_, err := r.client.CoreV1().Nodes().Get(ctx, r.name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "Cannot register the node yet")
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

// The node's capacity. Nothing is limited, so the figures only have to be large
// enough for the scheduler.
const (
	nodeCPUFactor = 8
	nodeMemory    = "64Gi"
	nodeStorage   = "256Gi"
	nodePods      = "200"
)

// kubeletVersion is the version that kubectl get nodes shows.
const kubeletVersion = "v1.34.4-sandbox"

// nodeObject returns the Node object to register, with the condition Ready=True.
func nodeObject(name string, address netip.Addr, port, cpus int, now time.Time) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(cpus*nodeCPUFactor), resource.DecimalSI),
		corev1.ResourceMemory:           resource.MustParse(nodeMemory),
		corev1.ResourceEphemeralStorage: resource.MustParse(nodeStorage),
		corev1.ResourcePods:             resource.MustParse(nodePods),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: runtime.GOARCH,
			},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: address.String()},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}}, // validated
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: runtime.GOARCH,
				KubeletVersion: kubeletVersion, ContainerRuntimeVersion: "sandbox://processes",
			},
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "the sandbox runs pods as processes", now),
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "NotMeasured", "", now),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "NotMeasured", "", now),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "NotMeasured", "", now),
			},
		},
	}
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string, now time.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: plan.Seconds(now), LastTransitionTime: plan.Seconds(now),
	}
}

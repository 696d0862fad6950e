package node

import (
	"net/netip"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the node offers beside the machine's CPUs. Nothing is limited, so the
// figures only have to be no reason for the scheduler to refuse a pod.
const (
	nodeCPUFactor = 8
	nodeMemory    = "64Gi"
	nodeStorage   = "256Gi"
	nodePods      = "200"
)

// kubeletVersion is what the node says that it is, for kubectl get nodes.
const kubeletVersion = "v1.34.4-sandbox"

// nodeObject is the node as it registers: ready.
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
		LastHeartbeatTime: seconds(now), LastTransitionTime: seconds(now),
	}
}

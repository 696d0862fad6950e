package ocm

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// newCRD is how long after a CRD was established the API server delays each create of its objects. The delay is two
// seconds, too:
// https://github.com/kubernetes/apiextensions-apiserver/blob/v0.35.4/pkg/apiserver/customresource_handler.go
const newCRD = 2 * time.Second

// creatableTimeout limits the wait for a new CRD.
const creatableTimeout = time.Minute

// WaitCreatable waits until the hub's API server creates ManagedClusters without a delay. A registration agent must
// not start before: if its certificate is issued while the API server delays its ManagedCluster, the agent cancels
// the create and never sends it again (docs/upstream/ocm-registration-create.md).
func (h *Hub) WaitCreatable(ctx context.Context) error {
	client, err := dynamic.NewForConfig(h.Cluster.Admin)
	if err != nil {
		return fmt.Errorf("client of %s: %w", h.Cluster.Name, err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, creatableTimeout, true, func(ctx context.Context) (bool, error) {
		crd, err := crds.Get(ctx, "managedclusters.cluster.open-cluster-management.io", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return creatable(crd, time.Now())
	})
	if err != nil {
		return fmt.Errorf("wait until %s creates ManagedClusters without a delay: %w", h.Cluster.Name, err)
	}
	return nil
}

// creatable reports whether an API server creates objects of the CRD without a delay.
func creatable(crd *unstructured.Unstructured, now time.Time) (bool, error) {
	var decoded struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, &decoded); err != nil {
		return false, fmt.Errorf("decode the status of the CRD %s: %w", crd.GetName(), err)
	}
	established := meta.FindStatusCondition(decoded.Status.Conditions, "Established")
	return established != nil && established.Status == metav1.ConditionTrue && now.Sub(established.LastTransitionTime.Time) >= newCRD, nil
}

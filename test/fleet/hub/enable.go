package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

const (
	manager    = "addon-manager"
	namespace  = "open-cluster-management"
	placements = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/" + namespace
	management = addons1 + "/clustermanagementaddons/helloworld"
	// decided is the most clusters of a PlacementDecision.
	// https://github.com/open-cluster-management-io/api/blob/v1.2.0/cluster/v1beta1/types_placementdecision.go
	decided = 100
)

// Populate gives the hub its clusters without an add-on, and a ClusterManagementAddOn that installs
// the add-on on the clusters of a Placement without any.
func (h *Hub) Populate(ctx context.Context, out io.Writer) error {
	begin := time.Now()
	if err := h.createCluster(ctx); err != nil {
		return fmt.Errorf("create the first cluster: %w", err)
	}
	objects, err := h.capture(ctx)
	if err != nil {
		return err
	}
	if err := h.seed(ctx, objects); err != nil {
		return fmt.Errorf("write the clusters into etcd: %w", err)
	}
	last := fmt.Sprintf("/apis/cluster.open-cluster-management.io/v1/managedclusters/fleet-%05d", h.Clusters-1)
	if err := poll(ctx, time.Minute, func() error { _, err := h.get(ctx, last); return err }); err != nil {
		return err
	}
	placement := map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
		"metadata": map[string]any{"name": "fleet", "namespace": namespace}, "spec": map[string]any{}}
	strategy := map[string]any{"spec": map[string]any{"installStrategy": map[string]any{"type": "Placements", "placements": []any{
		map[string]any{"namespace": namespace, "name": "fleet", "rolloutStrategy": map[string]any{"type": "All"},
			"configs": []any{deploymentConfig()}}}}}}
	err = errors.Join(h.post(ctx, placements+"/placements", placement), h.patch(ctx, management, strategy))
	fmt.Fprintf(out, "%d clusters are there after %s\n", h.Clusters, time.Since(begin).Round(time.Second))
	return err
}

// StartManager starts OCM's add-on manager, and returns when it works.
func (h *Hub) StartManager(ctx context.Context) error {
	if err := process.SwitchOf(h.cluster.Dir, manager).On(ctx); err != nil {
		return err
	}
	return poll(ctx, time.Minute, func() error {
		object, err := h.get(ctx, management)
		if err != nil {
			return err
		}
		status, _ := object["status"].(map[string]any)
		if status == nil || status["installProgressions"] == nil {
			return errors.New("OCM's add-on manager has not written the status of the ClusterManagementAddOn")
		}
		return nil
	})
}

// Decide selects all clusters by the Placement, as OCM's placement controller does.
func (h *Hub) Decide(ctx context.Context) error {
	var errs []error
	for from := 0; from < h.Clusters; from += decided {
		name := fmt.Sprintf("fleet-decision-%d", from/decided)
		errs = append(errs, h.post(ctx, placements+"/placementdecisions", map[string]any{
			"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
			"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{
				"cluster.open-cluster-management.io/placement":            "fleet",
				"cluster.open-cluster-management.io/decision-group-index": "0",
				"cluster.open-cluster-management.io/decision-group-name":  ""}}}))
	}
	for from := 0; from < h.Clusters; from += decided {
		var decisions []any
		for n := from; n < min(from+decided, h.Clusters); n++ {
			decisions = append(decisions, map[string]any{"clusterName": fmt.Sprintf("fleet-%05d", n), "reason": ""})
		}
		errs = append(errs, h.patchStatus(ctx, fmt.Sprintf("%s/placementdecisions/fleet-decision-%d", placements, from/decided),
			map[string]any{"decisions": decisions}))
	}
	return errors.Join(errs...)
}

func (h *Hub) patch(ctx context.Context, path string, object map[string]any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return h.client.Discovery().RESTClient().Patch(types.MergePatchType).AbsPath(path).Body(body).Do(ctx).Error()
}

// gone reports nil for an object that does not exist.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

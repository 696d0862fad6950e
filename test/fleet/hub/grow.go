package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// The first cluster is a real one for the controller. What it has in the end is
// what every other cluster gets a copy of.
const (
	first   = "fleet-00000"
	addons1 = "/apis/addon.open-cluster-management.io/v1alpha1"
	addons2 = "/apis/addon.open-cluster-management.io/v1beta1"
	addOn   = "/namespaces/" + first + "/managedclusteraddons/helloworld"
	works   = "/apis/work.open-cluster-management.io/v1/namespaces/" + first + "/manifestworks"
	rbac    = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + first
	role    = "open-cluster-management:helloworld-addon:agent"
)

// now is in seconds, as Kubernetes has it.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

func condition(name string) map[string]any {
	return map[string]any{"type": name, "status": "True", "reason": "Fleet", "message": "as a healthy cluster has it, in a sentence or two",
		"lastTransitionTime": now()}
}

// Grow gives the hub its clusters: it lets the controller, which start starts
// and whose result ends it, work for one, and copies that one into etcd.
func (h *Hub) Grow(ctx context.Context, out io.Writer, start func() (stop func() error, err error)) error {
	begin := time.Now()
	if err := h.createFirst(ctx); err != nil {
		return fmt.Errorf("create the first cluster: %w", err)
	}
	stop, err := start()
	if err != nil {
		return err
	}
	err = h.awaitFirst(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return fmt.Errorf("let the controller work for the first cluster: %w", err)
	}
	objects, err := h.capture(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the first cluster took %s; its objects:\n", time.Since(begin).Round(time.Second))
	for _, object := range objects {
		fmt.Fprintf(out, "  %-22s %5d bytes\n", object.kind, len(object.text))
	}
	begin = time.Now()
	server := process.SwitchOf(h.cluster.Dir, serverName)
	if err := server.Off(ctx); err != nil {
		return err
	}
	if err := h.seed(ctx, objects); err != nil {
		return fmt.Errorf("write the clusters into etcd: %w", err)
	}
	if err := server.On(ctx); err != nil {
		return err
	}
	if err := h.cluster.WaitReady(ctx); err != nil {
		return err
	}
	// The API server reads its caches, the add-on API's by the webhook, in the
	// background.
	err = poll(ctx, 30*time.Minute, func() error {
		for _, path := range []string{addons1 + "/managedclusteraddons", addons2 + "/managedclusteraddons",
			"/apis/work.open-cluster-management.io/v1/manifestworks", "/apis/cluster.open-cluster-management.io/v1/managedclusters"} {
			_, err := h.client.Discovery().RESTClient().Get().AbsPath(path).Param("resourceVersion", "0").
				Param("fieldSelector", "metadata.name=none").Timeout(time.Minute).DoRaw(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Fprintf(out, "%d clusters with %d add-ons each are there after %s\n", h.Clusters, h.AddOns, time.Since(begin).Round(time.Second))
	return err
}

func (h *Hub) get(ctx context.Context, path string) (map[string]any, error) {
	raw, err := h.client.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	return object, json.Unmarshal(raw, &object)
}

func (h *Hub) post(ctx context.Context, path string, object map[string]any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return h.client.Discovery().RESTClient().Post().AbsPath(path).Body(body).SetHeader("Content-Type", "application/json").Do(ctx).Error()
}

func (h *Hub) patchStatus(ctx context.Context, path string, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return h.client.Discovery().RESTClient().Patch(types.MergePatchType).AbsPath(path, "status").Body(body).Do(ctx).Error()
}

// createCluster creates the first cluster, which has no add-on.
func (h *Hub) createCluster(ctx context.Context) error {
	labels, claims := map[string]any{"cluster.open-cluster-management.io/clusterset": "default"}, []any{}
	for i := range 12 {
		labels[fmt.Sprintf("feature.open-cluster-management.io/addon-%02d", i)] = "available"
		claims = append(claims, map[string]any{"name": fmt.Sprintf("claim-%02d.open-cluster-management.io", i), "value": strings.Repeat("v", 30)})
	}
	clusters := "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	return errors.Join(
		h.post(ctx, "/api/v1/namespaces", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": first}}),
		h.post(ctx, clusters, map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": map[string]any{"name": first, "labels": labels},
			"spec": map[string]any{"hubAcceptsClient": true, "leaseDurationSeconds": 60}}),
		h.patchStatus(ctx, clusters+"/"+first, map[string]any{"clusterClaims": claims, "version": map[string]any{"kubernetes": "v1.34.4"},
			"allocatable": map[string]any{"cpu": "64", "memory": "256Gi"}, "capacity": map[string]any{"cpu": "64", "memory": "256Gi"},
			"conditions": []any{condition("HubAcceptedManagedCluster"), condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")}}),
	)
}

// deploymentConfig refers to the AddOnDeploymentConfig of the example.
func deploymentConfig() map[string]any {
	return map[string]any{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
		"namespace": "open-cluster-management", "name": "helloworld"}
}

// createFirst creates the first cluster with the add-on as OCM's add-on manager leaves it.
func (h *Hub) createFirst(ctx context.Context) error {
	management, err := h.get(ctx, addons1+"/clustermanagementaddons/helloworld")
	if err != nil {
		return err
	}
	uid := management["metadata"].(map[string]any)["uid"]
	config := deploymentConfig()
	return errors.Join(
		h.createCluster(ctx),
		h.post(ctx, addons1+strings.TrimSuffix(addOn, "/helloworld"), map[string]any{
			"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
			"metadata": map[string]any{"name": "helloworld", "namespace": first,
				"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("{}", 150)},
				"ownerReferences": []any{map[string]any{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
					"name": "helloworld", "uid": uid}}},
			"spec": map[string]any{"configs": []any{config}}}),
		h.patchStatus(ctx, addons1+addOn, map[string]any{
			"conditions": []any{condition("Configured"), condition("Progressing"), condition("Available"), condition("ConfigMapsSynced"),
				condition("ClusterCertificateRotated")},
			"configReferences": []any{map[string]any{"group": config["group"], "resource": config["resource"], "namespace": config["namespace"],
				"name": config["name"], "lastObservedGeneration": 1,
				"desiredConfig": map[string]any{"namespace": config["namespace"], "name": config["name"], "specHash": ""}}}}),
	)
}

// awaitFirst waits for the ManifestWork, says that it is applied, and waits until
// the add-on's status says so.
func (h *Hub) awaitFirst(ctx context.Context) error {
	const deploy = works + "/addon-helloworld-deploy-0"
	const settled = 5 * time.Second
	var version any
	var since time.Time
	return poll(ctx, 3*time.Minute, func() error {
		work, err := h.get(ctx, deploy)
		if err != nil {
			return err
		}
		if work["status"] == nil || len(work["status"].(map[string]any)) == 0 {
			return errors.Join(errors.New("just applied"), h.patchStatus(ctx, deploy, workStatus(work)))
		}
		object, err := h.get(ctx, addons1+addOn)
		if err != nil {
			return err
		}
		metadata, _ := object["metadata"].(map[string]any)
		text, _ := json.Marshal(object)
		switch {
		case !strings.Contains(string(text), `"type":"ManifestApplied"`):
			return errors.New("the add-on has no condition ManifestApplied")
		case metadata["finalizers"] == nil:
			return errors.New("the add-on has no finalizer for the uninstall")
		case metadata["managedFields"] == nil || metadata["annotations"] == nil:
			return errors.New("the controller's writes removed managed fields or annotations")
		case metadata["resourceVersion"] != version:
			version, since = metadata["resourceVersion"], time.Now()
			return errors.New("the add-on has just changed")
		case time.Since(since) < settled:
			return errors.New("the add-on may still change")
		}
		return nil
	})
}

// workStatus is what a work agent reports.
func workStatus(work map[string]any) map[string]any {
	spec := work["spec"].(map[string]any)
	var manifests []any
	for i, manifest := range spec["workload"].(map[string]any)["manifests"].([]any) {
		object := manifest.(map[string]any)
		metadata := object["metadata"].(map[string]any)
		manifests = append(manifests, map[string]any{"conditions": []any{condition("Applied"), condition("Available"), condition("StatusFeedbackSynced")},
			"resourceMeta": map[string]any{"ordinal": i, "kind": object["kind"], "name": metadata["name"], "namespace": metadata["namespace"],
				"group": "", "version": "v1", "resource": strings.ToLower(fmt.Sprint(object["kind"])) + "s"}, "statusFeedback": map[string]any{}})
	}
	return map[string]any{"conditions": []any{condition("Applied"), condition("Available")}, "resourceStatus": map[string]any{"manifests": manifests}}
}

package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	summaryKind   = schema.GroupVersionKind{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Kind: "AddOnSummary"}
	policyKind    = schema.GroupVersionKind{Group: "policy.open-cluster-management.io", Version: "v1", Kind: "Policy"}
	configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// addOnTravels follows the add-on's status from the managed clusters.
func (d *demo) addOnTravels(ctx context.Context) error {
	d.chapter("4. The add-on's status on both leaf hubs' clusters, seen on the global hub")
	started := time.Now()
	if err := d.see(ctx, "2 clusters, 2 synced", started, func() (bool, error) {
		return d.summaryIs(ctx, map[string]int64{"clusters": 2, "configMapsSynced": 2})
	}); err != nil {
		return err
	}
	leaf := d.hubs[leafHubs[0]]
	d.say("   a local ConfigMap settings is on %s's cluster1, and the hub wants to copy one of that name there:", leaf.name)
	foreign := newObject(configMapKind, "default", "settings", map[string]any{"data": map[string]any{"owner": "local"}})
	if err := leaf.cluster.Create(ctx, foreign); err != nil {
		return fmt.Errorf("create the local ConfigMap: %w", err)
	}
	started = time.Now()
	if err := leaf.hub.Create(ctx, newObject(configMapKind, "cluster1", "settings", map[string]any{"data": map[string]any{"owner": "the hub"}})); err != nil {
		return fmt.Errorf("create the hub's ConfigMap: %w", err)
	}
	if err := d.see(ctx, "the conflict on the managed cluster is on the global hub", started, func() (bool, error) {
		return d.summaryIs(ctx, map[string]int64{"conflicts": 1, "configMapsSynced": 1})
	}); err != nil {
		return err
	}
	started = time.Now()
	if err := leaf.cluster.Delete(ctx, foreign); err != nil {
		return fmt.Errorf("delete the local ConfigMap: %w", err)
	}
	if err := d.see(ctx, "it is deleted on the managed cluster, and the global hub knows", started, func() (bool, error) {
		return d.summaryIs(ctx, map[string]int64{"conflicts": 0, "configMapsSynced": 2})
	}); err != nil {
		return err
	}
	return d.see(ctx, "2 clusters available (OCM's agents look every 30 s)", d.started, func() (bool, error) {
		return d.summaryIs(ctx, map[string]int64{"available": 2})
	})
}

func (d *demo) summaryIs(ctx context.Context, want map[string]int64) (bool, error) {
	summary := newObject(summaryKind, "", "helloworld", nil)
	if err := d.hubs[global].hub.Get(ctx, client.ObjectKeyFromObject(summary), summary); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	for name, number := range want {
		if got, _, err := unstructured.NestedInt64(summary.Object, "status", name); err != nil || got != number {
			return false, err
		}
	}
	return true, nil
}

// policyTravels follows a policy's compliance. The spec sync's part, which brings
// the policy to the leaf hubs and into the database, is played here, and so is
// that of the policy framework on the leaf hubs.
func (d *demo) policyTravels(ctx context.Context) error {
	d.chapter("5. A policy of the global hub, and what the leaf hubs say of it")
	spec := map[string]any{"spec": map[string]any{"disabled": false, "policy-templates": []any{}}}
	policy := newObject(policyKind, "default", "no-privileges", spec)
	if err := d.hubs[global].hub.Create(ctx, policy); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	payload, err := json.Marshal(policy.Object)
	if err != nil {
		return fmt.Errorf("encode the policy: %w", err)
	}
	if err := d.database.Exec(ctx, d.owner, "INSERT INTO spec.policies (id, payload) VALUES ($1, $2)", string(policy.GetUID()), string(payload)); err != nil {
		return fmt.Errorf("write the policy's row: %w", err)
	}
	copies := map[string]*unstructured.Unstructured{}
	for _, name := range leafHubs {
		copied := newObject(policyKind, "default", "no-privileges", spec)
		copied.SetAnnotations(map[string]string{"hub-of-hubs.open-cluster-management.io/originOwnerReferenceUid": string(policy.GetUID())})
		if err := d.hubs[name].hub.Create(ctx, copied); err != nil {
			return fmt.Errorf("create the policy on %s: %w", name, err)
		}
		copies[name] = copied
	}
	for _, step := range []struct{ leaf1, leaf2, whole string }{
		{"Compliant", "Compliant", "Compliant"}, {"Compliant", "NonCompliant", "NonCompliant"}, {"Compliant", "Compliant", "Compliant"},
	} {
		started := time.Now()
		for name, compliance := range map[string]string{leafHubs[0]: step.leaf1, leafHubs[1]: step.leaf2} {
			object := copies[name]
			object.Object["status"] = map[string]any{"compliant": compliance, "status": []any{
				map[string]any{"clustername": "cluster1", "clusternamespace": "cluster1", "compliant": compliance}}}
			if err := d.hubs[name].hub.Status().Update(ctx, object); err != nil {
				return fmt.Errorf("write the policy's status on %s: %w", name, err)
			}
		}
		text := fmt.Sprintf("leaf1 says %s, leaf2 says %s: the global hub says %s", step.leaf1, step.leaf2, step.whole)
		if err := d.see(ctx, text, started, func() (bool, error) {
			if err := d.hubs[global].hub.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
				return false, err
			}
			got, _, err := unstructured.NestedString(policy.Object, "status", "compliant")
			return got == step.whole, err
		}); err != nil {
			return err
		}
	}
	return nil
}

func newObject(gvk schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// see waits until something is there, and prints how long after started it was.
func (d *demo) see(ctx context.Context, what string, started time.Time, there func() (bool, error)) error {
	deadline := time.Now().Add(d.Patience)
	for time.Now().Before(deadline) {
		found, err := there()
		if err != nil {
			return fmt.Errorf("look for %q: %w", what, err)
		}
		if found {
			d.say("   %8s  %s", time.Since(started).Round(time.Millisecond), what)
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("not seen within %s: %s", d.Patience, what)
}

func (d *demo) say(format string, args ...any) { _, _ = fmt.Fprintf(d.Out, format+"\n", args...) }

func (d *demo) chapter(text string) {
	d.say("\n%6.1fs  %s", time.Since(d.started).Seconds(), text)
}

// look lists the commands with which a person sees the same.
func (d *demo) look() {
	d.chapter("Seen: everything. Look yourself")
	if d.Once {
		return
	}
	for _, line := range []string{
		"bin/sandbox/kubectl --kubeconfig=" + d.hubs[global].kubeconfig("hub") + " get addonsummaries,policies -A",
		"bin/sandbox/kubectl --kubeconfig=" + d.hubs[leafHubs[0]].kubeconfig("hub") + " get managedclusteraddons,policies -A",
		"bin/sandbox/kubectl --kubeconfig=" + d.hubs[leafHubs[0]].kubeconfig("cluster1") + " get configmaps",
		"psql '" + d.owner + "' -c 'select * from status.compliance'",
	} {
		d.say("   %s", line)
	}
	if d.Metrics {
		d.say("   curl http://%s/metrics http://%s/metrics http://%s/metrics", d.metrics[global], d.metrics[leafHubs[0]], d.metrics[leafHubs[1]])
	}
}

package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// The set of deploy/example/replicaset.yaml, and its source.
const setNamespace, setName, sourceName = "team-a", "settings", "settings"

// distribution has the times of chapter 5.
type distribution struct{ canary, all time.Duration }

// distribute writes one ConfigMap to all clusters by a ConfigMapReplicaSet, the first cluster being the canary. Then it
// writes a revision that the canary cannot have, and goes back.
func (d *demo) distribute(ctx context.Context) (distribution, error) {
	if err := d.enableOthers(ctx); err != nil {
		return distribution{}, err
	}
	if err := d.hubRun(ctx, "label", "--overwrite", "managedcluster", cluster, "stage=canary"); err != nil {
		return distribution{}, fmt.Errorf("label the canary cluster: %w", err)
	}
	effects := []effect{d.delivered("canary", "the canary has its copy", []string{cluster})}
	if others := d.clusterNames()[1:]; len(others) > 0 {
		if err := d.hubRun(ctx, slices.Concat([]string{"label", "--overwrite", "managedcluster"}, others, []string{"region=us", "zone=b"})...); err != nil {
			return distribution{}, fmt.Errorf("label the other clusters: %w", err)
		}
		effects = append(effects, d.delivered("others", "once the canary has been synced for 10 s, the other clusters have theirs", others))
	}
	if err := d.hubRun(ctx, "apply", "-f", filepath.Join(d.Deploy, "example", "replicaset.yaml")); err != nil {
		return distribution{}, fmt.Errorf("apply the example of a ConfigMapReplicaSet: %w", err)
	}
	start := time.Now()
	times, err := d.watch(ctx, append(effects, d.rolledOut("every cluster reports it as synced")))
	if err != nil {
		return distribution{}, err
	}
	took := distribution{canary: times["canary"].Sub(start), all: times["rolled-out"].Sub(start)}
	if err := d.writeZone(ctx, `"$(ZONE)"`); err != nil {
		return distribution{}, err
	}
	if _, err := d.watch(ctx, []effect{d.stopped()}); err != nil {
		return distribution{}, err
	}
	if err := d.writeZone(ctx, "null"); err != nil {
		return distribution{}, err
	}
	_, err = d.watch(ctx, []effect{d.rolledOut("back to the former content: every cluster is synced")})
	return took, err
}

// clusterNames returns the names of the sandbox's managed clusters.
func (d *demo) clusterNames() []string {
	names := make([]string, d.Clusters)
	for i := range names {
		names[i] = fmt.Sprintf("cluster%d", i+1)
	}
	return names
}

// enableOthers enables the add-on on all clusters but the first, which has it.
func (d *demo) enableOthers(ctx context.Context) error {
	file := filepath.Join(d.Deploy, "example", "managedclusteraddon.yaml")
	example, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the example of a ManagedClusterAddOn: %w", err)
	}
	addOns := d.clients.dynamic.Resource(schema.GroupVersion(addonv1alpha1.GroupVersion).WithResource("managedclusteraddons"))
	for _, name := range d.clusterNames()[1:] {
		addOn := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(example), cluster, name)), addOn); err != nil {
			return fmt.Errorf("decode the example of a ManagedClusterAddOn: %w", err)
		}
		if _, err := addOns.Namespace(name).Create(ctx, addOn, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("enable the add-on on %s: %w", name, err)
		}
		d.say("   (as by: sed s/%s/%s/ %s | kubectl apply -f -)", cluster, name, file)
	}
	return nil
}

// writeZone writes the key zone of the source; null removes it.
func (d *demo) writeZone(ctx context.Context, value string) error {
	if err := d.hubRun(ctx, "patch", "-n", setNamespace, "configmap", sourceName, "--type=merge", "-p", `{"data":{"zone":`+value+`}}`); err != nil {
		return fmt.Errorf("change the source: %w", err)
	}
	return nil
}

// delivered is that clusters have their copies, each with its own values.
func (d *demo) delivered(key, what string, names []string) effect {
	return effect{
		key: key, what: what,
		where: d.hubKubectl() + " get configmapmirrors -A",
		look: func(ctx context.Context) (string, bool, error) {
			var lines []string
			for _, name := range names {
				copied, err := d.clients.clusters[name].CoreV1().ConfigMaps(installedIn).Get(ctx, sourceName, metav1.GetOptions{})
				if err != nil {
					return "", false, absent(err)
				}
				lines = append(lines, fmt.Sprintf("ConfigMap %s/%s on %s: region=%s url=%s", installedIn, sourceName, name, copied.Data["region"], copied.Data["url"]))
			}
			return strings.Join(lines, "\n"), true, nil
		},
	}
}

// rolledOut is that every cluster has reported the latest content as synced.
func (d *demo) rolledOut(what string) effect {
	return d.setEffect("rolled-out", what, v1alpha1.ConditionRolledOut, func(set *v1alpha1.ConfigMapReplicaSet, c *metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && int(set.Status.Summary.Synced) == d.Clusters
	})
}

// stopped is that the rollout has stopped with the canary.
func (d *demo) stopped() effect {
	const what = "the canary has no value for $(ZONE): the rollout stops there, and all clusters keep what they have"
	return d.setEffect("stopped", what, v1alpha1.ConditionDegraded, func(set *v1alpha1.ConfigMapReplicaSet, c *metav1.Condition) bool {
		return c.Reason == "Stopped" && set.Status.Summary.Updated == 0
	})
}

// setEffect is that a condition of the set is as wanted.
func (d *demo) setEffect(key, what, condition string, is func(*v1alpha1.ConfigMapReplicaSet, *metav1.Condition) bool) effect {
	sets := d.clients.dynamic.Resource(v1alpha1.GroupVersion.WithResource("configmapreplicasets")).Namespace(setNamespace)
	return effect{key: key, what: what, where: d.hubKubectl() + " -n " + setNamespace + " describe cmrs " + setName, look: func(ctx context.Context) (string, bool, error) {
		object, err := sets.Get(ctx, setName, metav1.GetOptions{})
		if err != nil {
			return "", false, absent(err)
		}
		set := &v1alpha1.ConfigMapReplicaSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set); err != nil {
			return "", false, fmt.Errorf("decode the ConfigMapReplicaSet: %w", err)
		}
		c := meta.FindStatusCondition(set.Status.Conditions, condition)
		if c == nil || set.Status.ObservedGeneration != set.Generation {
			return "", false, nil
		}
		return fmt.Sprintf("condition %s=%s (%s): %s", c.Type, c.Status, c.Reason, c.Message), is(set, c), nil
	}}
}

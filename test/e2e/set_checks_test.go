//go:build e2e && replicaset

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Marks of a set's ConfigMaps in the clusters' namespaces on the hub, besides revisionAnnotation.
const (
	revisionSinceAnnotation = "helloworld.open-cluster-management.io/revision-since"
	setUIDLabel             = "helloworld.open-cluster-management.io/replica-set-uid"
	setAnnotation           = "helloworld.open-cluster-management.io/replica-set"
)

// replicaSet is what users read of a ConfigMapReplicaSet.
type replicaSet struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		CurrentRevision    string             `json:"currentRevision"`
		UpdatedRevision    string             `json:"updatedRevision"`
		HeldRemovals       *heldRemovals      `json:"heldRemovals"`
		Conditions         []metav1.Condition `json:"conditions"`
		Summary            clusterCounts      `json:"summary"`
		Placements         []struct {
			Name   string `json:"name"`
			Groups []struct {
				Name    string        `json:"name"`
				Summary clusterCounts `json:"summary"`
			} `json:"groups"`
		} `json:"placements"`
	} `json:"status"`
}

type heldRemovals struct {
	ID       string `json:"id"`
	Clusters int    `json:"clusters"`
}

type clusterCounts struct {
	Total    int `json:"total"`
	Updated  int `json:"updated"`
	Synced   int `json:"synced"`
	Failed   int `json:"failed"`
	TimedOut int `json:"timedOut"`
}

// set reads a set.
func (tm *team) set(ctx context.Context, name string) (*replicaSet, error) {
	object, err := tm.hub.dynamic.Resource(replicaSets).Namespace(tm.namespace).Get(ctx, name, getOptions)
	if err != nil {
		return nil, err
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	s := &replicaSet{}
	return s, json.Unmarshal(raw, s)
}

// rolledOut checks that a set reports its rollout to so many clusters as complete.
func (tm *team) rolledOut(name string, clusters int) check {
	return func(ctx context.Context) error {
		s, err := tm.set(ctx, name)
		if err != nil {
			return err
		}
		for condition, want := range map[string]bool{"PlacementsResolved": true, "RolledOut": true, "Degraded": false} {
			found := meta.FindStatusCondition(s.Status.Conditions, condition)
			if found == nil || (found.Status == metav1.ConditionTrue) != want || found.ObservedGeneration != s.Generation {
				return fmt.Errorf("want %s=%t for generation %d: %s", condition, want, s.Generation, conditionLine(s.Status.Conditions))
			}
		}
		if s.Status.CurrentRevision == "" || s.Status.CurrentRevision != s.Status.UpdatedRevision || s.Status.ObservedGeneration != s.Generation {
			return fmt.Errorf("want all at the updated revision: %+v", s.Status)
		}
		return differ("summary", clusterCounts{Total: clusters, Updated: clusters, Synced: clusters}, s.Status.Summary)
	}
}

// tells checks a condition of a set: its status, its reason, and that its message has all parts.
func (tm *team) tells(name, condition string, status metav1.ConditionStatus, reason string, parts ...string) check {
	return func(ctx context.Context) error {
		s, err := tm.set(ctx, name)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(s.Status.Conditions, condition)
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("want %s=%s/%s: %s", condition, status, reason, conditionLine(s.Status.Conditions))
		}
		for _, part := range parts {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("want %q in the message of %s: %s", part, condition, found.Message)
			}
		}
		return nil
	}
}

// everywhere waits until the clusters have copies with the data, and the set's rollout to them is complete.
func (tm *team) everywhere(t *testing.T, name string, data map[string]string, clusters ...*cluster) {
	t.Helper()
	for _, c := range clusters {
		eventually(t, c.name+" has the copy", c.hasCopy(configMap(name, data)))
	}
	eventually(t, "the rollout is complete", tm.rolledOut(name, len(clusters)))
}

// revisions are the stored revisions of a set, by the name of the object.
func (tm *team) revisions(t *testing.T, name string) []string {
	t.Helper()
	s, err := tm.set(t.Context(), name)
	must(t, "get the set", err)
	list, err := tm.hub.kube.AppsV1().ControllerRevisions(tm.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: setUIDLabel + "=" + string(s.UID)})
	must(t, "list the revisions", err)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// event checks that there is an event with the reason on a set.
func (tm *team) event(name, reason string) check {
	return func(ctx context.Context) error {
		events, err := tm.hub.kube.CoreV1().Events(tm.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var reasons []string
		for i := range events.Items {
			reasons = append(reasons, events.Items[i].Reason)
		}
		if !slices.Contains(reasons, reason) {
			return fmt.Errorf("the reasons of the events are %q, want %s", reasons, reason)
		}
		return nil
	}
}

// columns checks what kubectl get prints for an object of the add-on's API.
func (tm *team) columns(resource, namespace, name string, want map[string]string) check {
	return func(ctx context.Context) error {
		raw, err := tm.kube.CoreV1().RESTClient().Get().SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
			AbsPath("/apis/helloworld.open-cluster-management.io/v1alpha1/namespaces", namespace, resource, name).DoRaw(ctx)
		if err != nil {
			return err
		}
		table := &metav1.Table{}
		if err := json.Unmarshal(raw, table); err != nil {
			return err
		}
		got := map[string]string{}
		for i, column := range table.ColumnDefinitions {
			if _, wanted := want[column.Name]; wanted && len(table.Rows) == 1 {
				got[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
			}
		}
		return differ("columns", want, got)
	}
}

// delivered is a set's ConfigMap in the cluster's namespace on the hub.
func (tm *team) delivered(ctx context.Context, c *cluster, name string) (*corev1.ConfigMap, error) {
	return tm.hub.kube.CoreV1().ConfigMaps(c.name).Get(ctx, name, getOptions)
}

// versions are UID and resourceVersion of the ConfigMaps of these names in the clusters' namespaces on the hub.
func (tm *team) versions(ctx context.Context, clusters []*cluster, names ...string) (map[string]string, error) {
	found := map[string]string{}
	for _, c := range clusters {
		for _, name := range names {
			cm, err := tm.delivered(ctx, c, name)
			switch {
			case apierrors.IsNotFound(err):
				found[c.name+"/"+name] = "none"
			case err != nil:
				return nil, err
			default:
				found[c.name+"/"+name] = string(cm.UID) + " " + cm.ResourceVersion
			}
		}
	}
	return found, nil
}

// unchanged returns a check that nothing was written to the ConfigMaps of these names of the clusters since.
func (tm *team) unchanged(t *testing.T, clusters []*cluster, names ...string) check {
	t.Helper()
	before, err := tm.versions(t.Context(), clusters, names...)
	must(t, "read the clusters' ConfigMaps on the hub", err)
	return func(ctx context.Context) error {
		now, err := tm.versions(ctx, clusters, names...)
		if err != nil {
			return err
		}
		return differ("the ConfigMaps on the hub", before, now)
	}
}

// allVersions are the resourceVersions of the team's objects, and of the ConfigMaps, the agents' reports and the copies of
// all clusters.
func (tm *team) allVersions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	read := func(api apiServer, on, namespace, selector string, resources ...schema.GroupVersionResource) error {
		for _, resource := range resources {
			list, err := api.dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return fmt.Errorf("list %s of %s: %w", resource.Resource, on, err)
			}
			for i := range list.Items {
				versions[on+": "+resource.Resource+"/"+list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
			}
		}
		return nil
	}
	if err := read(tm.hub.apiServer, "hub", tm.namespace, "", replicaSets, configMaps); err != nil {
		return nil, err
	}
	sets, err := tm.hub.dynamic.Resource(replicaSets).Namespace(tm.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the sets: %w", err)
	}
	for i := range sets.Items {
		// not those of deleted sets, which the garbage collector deletes some time later
		if err := read(tm.hub.apiServer, "hub", tm.namespace, setUIDLabel+"="+string(sets.Items[i].GetUID()), controllerRevs); err != nil {
			return nil, err
		}
	}
	for _, c := range tm.clusters {
		if err := read(tm.hub.apiServer, "namespace "+c.name, c.name, "", configMaps, configMapMirrors); err != nil {
			return nil, err
		}
		if err := read(c.apiServer, c.name, c.installNamespace, "", configMaps); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// step is when a cluster was given a revision, and since when its agent reports it as synced.
type step struct {
	cluster       string
	given, synced time.Time
}

// steps reads the steps of a rollout from the hub's objects, by the time when the clusters were given the revision.
func (tm *team) steps(t *testing.T, name, revision string, clusters ...*cluster) []step {
	t.Helper()
	var all []step
	for _, c := range clusters {
		cm, err := tm.delivered(t.Context(), c, name)
		must(t, "get the ConfigMap of "+c.name, err)
		if got := cm.Annotations[revisionAnnotation]; got != revision {
			t.Fatalf("%s has revision %q, want %q", c.name, got, revision)
		}
		s := step{cluster: c.name}
		s.given, err = time.Parse(time.RFC3339, cm.Annotations[revisionSinceAnnotation])
		must(t, "parse when "+c.name+" was given the revision", err)
		entry, err := tm.entry(t.Context(), c, name)
		must(t, "read the report of "+c.name, err)
		if entry.State != "Synced" || entry.Revision != revision {
			t.Fatalf("%s reports %+v, want revision %s Synced", c.name, entry, revision)
		}
		s.synced, err = time.Parse(time.RFC3339, entry.Since)
		must(t, "parse since when "+c.name+" is synced", err)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b step) int { return a.given.Compare(b.given) })
	return all
}

// entry is what the cluster's agent reports about a ConfigMap.
func (tm *team) entry(ctx context.Context, c *cluster, name string) (mirrored, error) {
	_, status, err := tm.mirror(ctx, c)
	if err != nil {
		return mirrored{}, err
	}
	for _, entry := range status.ConfigMaps {
		if entry.Name == name {
			return entry, nil
		}
	}
	return mirrored{}, fmt.Errorf("the ConfigMapMirror of %s has nothing about %s: %+v", c.name, name, status)
}

// differ returns an observation of the difference, if there is one.
func differ(what string, want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return observation{fmt.Errorf("%s (-want +got):\n%s", what, diff)}
	}
	return nil
}

// without are the clusters but one.
func without(clusters []*cluster, one *cluster) []*cluster {
	return slices.DeleteFunc(slices.Clone(clusters), func(c *cluster) bool { return c == one })
}

// copyUIDs are the UIDs of the copies of a name.
func copyUIDs(t *testing.T, name string, clusters ...*cluster) check {
	t.Helper()
	uids := func(ctx context.Context) (map[string]string, error) {
		found := map[string]string{}
		for _, c := range clusters {
			cm, err := c.copyOf(ctx, name)
			if err != nil {
				return nil, observation{fmt.Errorf("%s: %w", c.name, err)}
			}
			found[c.name] = string(cm.UID)
		}
		return found, nil
	}
	before, err := uids(t.Context())
	must(t, "read the copies", err)
	before = maps.Clone(before)
	return func(ctx context.Context) error {
		now, err := uids(ctx)
		if err != nil {
			return err
		}
		return differ("the copies", before, now)
	}
}

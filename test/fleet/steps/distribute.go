package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// The names of the step. A set, its source and its Placement have one name.
const (
	teamNamespace = "fleet-team"
	partSet       = "fleet-part"
	wholeSet      = "fleet-whole"
	bareMap       = "fleet-bare"
	stageLabel    = "fleet-stage"
)

// Distribution is the flag with which the add-on's controller lets that of ConfigMapReplicaSets write.
const Distribution = "--distribution"

const (
	// writeBinding is the RoleBinding that lets the controller of ConfigMapReplicaSets write in a cluster's namespace.
	writeBinding = "open-cluster-management:helloworld-addon:replicaset"
	// ofSet is the label of the ConfigMaps that it has written.
	ofSet = "helloworld.open-cluster-management.io/replica-set-uid"
)

// sourceSize is how many bytes a source has.
const sourceSize = 1024

var (
	replicaSets = schema.GroupVersionResource{Group: "helloworld.open-cluster-management.io", Version: "v1alpha1", Resource: "configmapreplicasets"}
	mirrors     = replicaSets.GroupVersion().WithResource("configmapmirrors")
)

// The Placement of the part has a decision group for each step of the rollout.
const teamObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: fleet-team}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: fleet-team}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: fleet-whole, namespace: fleet-team}
spec: {clusterSets: [global]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: fleet-part, namespace: fleet-team}
spec:
  clusterSets: [global]
  predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: fleet-stage, operator: Exists}]}}}]
  decisionStrategy: {groupStrategy: {decisionGroups: %s}}
`

// Distribute writes ConfigMaps by ConfigMapReplicaSets: to a part of the clusters, a change of it in stages, and to all
// clusters at once. Its controller runs with its own account and rights.
func Distribute(ctx context.Context, f *Fleet) error {
	f.say("9. ConfigMapReplicaSets")
	if err := f.distributable(ctx); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { watchAll(watching, f.dynamic, mirrors, "metadata.name="+addOnName, f.seenMirror, func() {}) })
	part := f.Clusters[:partOf(f.Size())]
	steps := stepsOf(part)
	if err := f.target(ctx, steps); err != nil {
		return err
	}
	if err := f.writable(ctx); err != nil {
		return err
	}
	// What the controllers do after their start is not part of the figures.
	if err := f.settled(ctx); err != nil {
		return err
	}
	f.Record.Add(f.figure(record.Distribute, record.Part, "", "clusters", float64(len(part))))
	if err := f.setToPart(ctx, part); err != nil {
		return err
	}
	if err := f.setInStages(ctx, part, steps); err != nil {
		return err
	}
	return errors.Join(f.setToAll(ctx), f.removeSets(ctx))
}

// distributable installs the controller of ConfigMapReplicaSets, and tells the add-on's that it is there.
func (f *Fleet) distributable(ctx context.Context) error {
	if err := f.install(ctx, f.ReplicaSets); err != nil {
		return err
	}
	if !slices.Contains(f.Subject.Args, Distribution) {
		if err := f.stopControllers(); err != nil {
			return err
		}
		f.Subject.Args = append(slices.Clone(f.Subject.Args), Distribution)
		if err := f.startControllers(ctx); err != nil {
			return err
		}
	}
	var err error
	f.replicaSets, err = f.start(f.ReplicaSets, f.ReplicaSets.Name+"-controller")
	return err
}

// stopReplicaSets ends the controller of ConfigMapReplicaSets, if it runs.
func (f *Fleet) stopReplicaSets() error {
	if f.replicaSets == nil {
		return nil
	}
	err := f.replicaSets.Stop()
	f.replicaSets = nil
	return err
}

// target creates the Placements of the sets, and returns when they have decided.
func (f *Fleet) target(ctx context.Context, steps []step) error {
	applier, err := apply.New(f.config)
	if err != nil {
		return err
	}
	decisionGroups, err := json.Marshal(groupsFor(steps))
	if err != nil {
		return fmt.Errorf("encode the decision groups: %w", err)
	}
	if err := applier.Apply(ctx, fmt.Appendf(nil, teamObjects, decisionGroups)); err != nil {
		return fmt.Errorf("create the Placements of the sets: %w", err)
	}
	part := 0
	for _, s := range steps {
		part += len(s.clusters)
		if _, err := each(ctx, s.clusters, func(ctx context.Context, cluster string) error { return f.label(ctx, cluster, s.name) }); err != nil {
			return err
		}
	}
	for name, want := range map[string]int{partSet: part, wholeSet: f.Size()} {
		err := poll(ctx, f.Times.Limit, func(ctx context.Context) error {
			decided, err := f.decisions(ctx, teamNamespace, name)
			if err == nil && len(decided) != want {
				err = fmt.Errorf("the Placement %s has selected %d clusters, not %d", name, len(decided), want)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writable waits until the controller of ConfigMapReplicaSets works and may write to every cluster.
func (f *Fleet) writable(ctx context.Context) error {
	if err := f.awaitWith(ctx, mirrored, f.Clusters); err != nil {
		return err
	}
	return poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		bound, err := f.kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + writeBinding})
		if err != nil {
			return fmt.Errorf("list the RoleBindings of the controller of ConfigMapReplicaSets: %w", err)
		}
		if len(bound.Items) < f.Size() {
			return fmt.Errorf("the right to write ConfigMaps is bound on %d of %d clusters", len(bound.Items), f.Size())
		}
		logged, err := f.replicaSets.Logged("Started controller")
		if err == nil && !logged {
			err = errors.New("the controller of ConfigMapReplicaSets does not work yet")
		}
		return err
	})
}

func (f *Fleet) label(ctx context.Context, cluster, stage string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := f.dynamic.Resource(clusters).Patch(ctx, cluster, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, stageLabel, stage), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("label ManagedCluster %s: %w", cluster, err)
	}
	return nil
}

// setToPart creates a set for the part of the clusters.
func (f *Fleet) setToPart(ctx context.Context, part []string) error {
	f.say("   a set writes to %d clusters", len(part))
	if err := f.source(ctx, partSet, f.mark()); err != nil {
		return err
	}
	begin := time.Now()
	if err := f.createSet(ctx, partSet); err != nil {
		return err
	}
	_, err := f.reported(ctx, partSet, "", record.SetToPart, begin, part)
	return err
}

// setInStages changes the source of the set, which its rollout strategy brings to the clusters step by step.
func (f *Fleet) setInStages(ctx context.Context, part []string, steps []step) error {
	f.say("   its change goes to them in %d steps", len(steps))
	former, err := f.rolledOut(ctx, partSet)
	if err != nil {
		return err
	}
	client := f.dynamic.Resource(replicaSets).Namespace(teamNamespace)
	patch := fmt.Appendf(nil, `{"spec":{"placementRefs":[{"name":%q,"rolloutStrategy":%s}]}}`, partSet, strategyFor(steps))
	if _, err := client.Patch(ctx, partSet, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change the strategy of set %s: %w", partSet, err)
	}
	if _, err := f.rolledOut(ctx, partSet); err != nil {
		return err
	}
	begin := time.Now()
	if err := f.source(ctx, partSet, f.mark()); err != nil {
		return err
	}
	revision, err := f.reported(ctx, partSet, former, record.SetInStages, begin, part)
	if err != nil {
		return err
	}
	early := overtakes(steps, f.board.Times(reportedSynced(partSet, revision)))
	f.Record.Judge(f.figure(record.Distribute, record.Early, "", "steps", float64(early)), record.AtMost(0))
	return nil
}

// setToAll writes a ConfigMap to all clusters by bare writers, and another one by a set.
func (f *Fleet) setToAll(ctx context.Context) error {
	floor, err := f.bareWrites(ctx)
	if err != nil {
		return err
	}
	mark := f.mark()
	if err := f.source(ctx, wholeSet, mark); err != nil {
		return err
	}
	if err := f.settled(ctx); err != nil {
		return err
	}
	f.say("   a set writes to all clusters")
	before, err := f.spent(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := f.createSet(ctx, wholeSet); err != nil {
		return err
	}
	revision, err := f.reported(ctx, wholeSet, "", record.SetToAll, begin, f.Clusters)
	f.Record.Latencies90(f.figure(record.Distribute, record.WrittenToAll, "", "s", 0), f.board.Samples(copied(wholeSet, mark), begin, f.Clusters), f.Size())
	if err != nil {
		return err
	}
	last, _ := f.board.Last(reportedSynced(wholeSet, revision), f.Clusters)
	f.Record.Add(f.figure(record.Distribute, record.AgainstWrites, "", "×", last.Sub(begin).Seconds()/floor.Seconds()))
	if f.Times.Idle == 0 {
		return nil
	}
	if err := f.settled(ctx); err != nil {
		return err
	}
	after, err := f.spent(ctx)
	if err != nil {
		return err
	}
	f.costOfSet(before, after)
	return f.idleSets(ctx, after)
}

// settled waits until the requests of what was done before have come. Agents report some seconds later. Without an idle
// time nothing is counted, and there is nothing to wait for.
func (f *Fleet) settled(ctx context.Context) error {
	if f.Times.Idle == 0 {
		return nil
	}
	return f.quiet(ctx, quietFor, f.ofReplicaSets, f.ofAgents)
}

// bareWrites creates a ConfigMap in the namespace of each cluster with as many requests on their way as the controller
// of ConfigMapReplicaSets has. It returns the time until the last copy.
func (f *Fleet) bareWrites(ctx context.Context) (time.Duration, error) {
	f.say("   bare writers write to all clusters")
	mark := f.mark()
	begin := time.Now()
	_, err := each(ctx, f.Clusters, func(ctx context.Context, cluster string) error {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		defer cancel()
		_, err := f.kube.CoreV1().ConfigMaps(cluster).Create(ctx, sourceOf(bareMap, mark), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create ConfigMap %s/%s: %w", cluster, bareMap, err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	event := copied(bareMap, mark)
	err = f.awaitWith(ctx, event, f.Clusters)
	figure := f.figure(record.Distribute, record.WrittenToAll, "", "s", 0)
	figure.Subject = record.Floor
	f.Record.Latencies90(figure, f.board.Samples(event, begin, f.Clusters), f.Size())
	last, _ := f.board.Last(event, f.Clusters)
	return last.Sub(begin), err
}

// removeSets deletes the sets. It returns an error when a ConfigMap of theirs is left.
func (f *Fleet) removeSets(ctx context.Context) error {
	client := f.dynamic.Resource(replicaSets).Namespace(teamNamespace)
	for _, name := range []string{partSet, wholeSet} {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); gone(err) != nil {
			return fmt.Errorf("delete set %s: %w", name, err)
		}
	}
	err := poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		list, err := client.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d sets are left", len(list.Items))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete the sets: %w", err)
	}
	left, err := f.kube.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: ofSet})
	if err == nil && len(left.Items) > 0 {
		err = fmt.Errorf("%d ConfigMaps are left of the sets, the first one is %s/%s", len(left.Items), left.Items[0].Namespace, left.Items[0].Name)
	}
	return err
}

// source writes the source of a set.
func (f *Fleet) source(ctx context.Context, name, mark string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	client := f.kube.CoreV1().ConfigMaps(teamNamespace)
	_, err := client.Update(ctx, sourceOf(name, mark), metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, sourceOf(name, mark), metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the source of set %s: %w", name, err)
	}
	return nil
}

// sourceOf returns a ConfigMap with a mark.
func sourceOf(name, mark string) *corev1.ConfigMap {
	data := map[string]string{markKey: mark, "rest": strings.Repeat("x", sourceSize-len(markKey)-len(mark)-len("rest"))}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// createSet creates the set that writes its source to the clusters of its Placement at once.
func (f *Fleet) createSet(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": replicaSets.GroupVersion().String(), "kind": "ConfigMapReplicaSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"configMaps": []any{map[string]any{"name": name}}, "placementRefs": []any{map[string]any{"name": name}}},
	}}
	if _, err := f.dynamic.Resource(replicaSets).Namespace(teamNamespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create set %s: %w", name, err)
	}
	return nil
}

// reported waits until the clusters have reported a revision after the former one as synced, and records when.
func (f *Fleet) reported(ctx context.Context, set, former, metric string, begin time.Time, names []string) (revision string, err error) {
	err = poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		object, err := f.set(ctx, set)
		if err != nil {
			return err
		}
		if revision, _, _ = unstructured.NestedString(object.Object, "status", "updatedRevision"); revision == "" || revision == former {
			return fmt.Errorf("set %s has no new revision", set)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	event := reportedSynced(set, revision)
	err = f.awaitWith(ctx, event, names)
	f.Record.Latencies90(f.figure(record.Distribute, metric, "", "s", 0), f.board.Samples(event, begin, names), len(names))
	return revision, err
}

// rolledOut waits until the set's controller has seen its spec and every cluster is done. It returns the revision.
func (f *Fleet) rolledOut(ctx context.Context, name string) (revision string, err error) {
	err = poll(ctx, f.Times.Limit, func(ctx context.Context) error {
		object, err := f.set(ctx, name)
		if err != nil {
			return err
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if observed != object.GetGeneration() || !isTrue(object, "RolledOut") {
			return fmt.Errorf("set %s is not rolled out: %v", name, object.Object["status"])
		}
		revision, _, _ = unstructured.NestedString(object.Object, "status", "updatedRevision")
		return nil
	})
	return revision, err
}

func (f *Fleet) set(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	object, err := f.dynamic.Resource(replicaSets).Namespace(teamNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read set %s: %w", name, err)
	}
	return object, nil
}

package diff

import (
	"cmp"
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
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	hubplan "open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/listing"
)

// errNoResource reports that the API server does not know a resource.
var errNoResource = errors.New("the hub does not serve the resource")

func isNoResource(err error) bool { return errors.Is(err, errNoResource) }

// gatherer collects the facts of one diff.
type gatherer struct {
	*hub
	file   plan.File
	writes writes
	facts  *plan.Facts
	fleet  *fleet
	// notAsked are the objects that were merged here, because the API server could not be asked; why is one of the reasons.
	notAsked int
	why      error
}

// gather returns the facts. What could not be read is in them, as far as there is an answer without it.
func (g *gatherer) gather(ctx context.Context, chosen plan.Chosen, now time.Time) (*plan.Facts, error) {
	g.fleet = newFleet(g.hub)
	g.facts = &plan.Facts{File: g.file, ConfigMaps: map[plan.Key]*plan.ConfigMap{}, Sources: map[plan.Key]*corev1.ConfigMap{},
		Placements: map[plan.Key]hubplan.Placement{}, Clusters: g.fleet.clusters, ObjectsRead: true, Chosen: chosen, Now: now}
	if err := g.clusters(ctx); err != nil {
		return nil, err
	}
	if err := g.sets(ctx); err != nil {
		return nil, err
	}
	g.objects(ctx)
	if err := g.sources(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(g.facts.Sets, func(a, b *plan.Set) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	g.facts.Decide()
	if err := g.placements(ctx); err != nil {
		return nil, err
	}
	g.delivered(ctx)
	names := g.facts.ClusterNames()
	var group sync.WaitGroup
	for i := range resources {
		group.Go(func() { g.fleet.load(ctx, i, names) })
	}
	group.Wait()
	g.read()
	g.facts.NotRead = append(g.facts.NotRead, g.fleet.notRead()...)
	return g.facts, nil
}

// read makes the facts tell what could be read of the clusters.
func (g *gatherer) read() {
	g.facts.ClustersRead, g.facts.AddOnsRead = g.fleet.progress[managedClusters].err == nil, g.fleet.progress[addOns].err == nil
}

// clusters reads the ManagedClusters that the namespaces of the file and the arguments may name, and checks these.
func (g *gatherer) clusters(ctx context.Context) error {
	names := append([]string{}, g.facts.Chosen.Names...)
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	for _, object := range g.file.Objects {
		if object.Kind == plan.ConfigMapKind && !seen[object.Namespace] {
			seen[object.Namespace] = true
			names = append(names, object.Namespace)
		}
	}
	g.fleet.load(ctx, managedClusters, names)
	err := g.fleet.progress[managedClusters].err
	bySelector := g.facts.Chosen.Selector != nil && !g.facts.Chosen.Selector.Empty()
	switch {
	case isNoResource(err):
		return fmt.Errorf("%s is not a hub of Open Cluster Management: it serves no ManagedClusters; name the hub by --context or --kubeconfig, "+
			"or install OCM there (clusteradm init)", g.Host)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("read ManagedClusters of %s: %w", g.Host, err)
	case err != nil && bySelector:
		return fmt.Errorf("read ManagedClusters by labels: %w", err)
	case err == nil:
		if unknown := g.fleet.unknown(g.facts.Chosen.Names); len(unknown) > 0 {
			return fmt.Errorf("there is no ManagedCluster %s", strings.Join(unknown, ", "))
		}
	}
	g.read()
	return nil
}

// sets reads all sets. Where the caller may not, it reads those of the namespaces of the file, if these are few.
func (g *gatherer) sets(ctx context.Context) error {
	prefix := "/apis/" + v1alpha1.GroupVersion.String()
	add := func(decode func(any) error) error {
		set := &v1alpha1.ConfigMapReplicaSet{}
		if err := decode(set); err != nil {
			return err
		}
		set.ManagedFields = nil
		g.facts.Sets = append(g.facts.Sets, &plan.Set{Key: plan.Key{Namespace: set.Namespace, Name: set.Name}, Live: set, After: set})
		return nil
	}
	_, err := g.Each(ctx, listing.List{Path: prefix + "/configmapreplicasets"}, add)
	switch {
	case err == nil:
		g.facts.SetsRead = true
	case apierrors.IsNotFound(err):
		g.facts.SetsRead = true
		for _, object := range g.file.Objects {
			if object.Kind == plan.SetKind {
				return errNotServed
			}
		}
	case apierrors.IsForbidden(err):
		return g.setsOfFile(ctx, prefix, err, add)
	default:
		return fmt.Errorf("list the ConfigMapReplicaSets of %s: %w", g.Host, err)
	}
	return nil
}

func (g *gatherer) setsOfFile(ctx context.Context, prefix string, forbidden error, add func(decode func(any) error) error) error {
	g.facts.Sets = nil
	namespaces := map[string]bool{}
	for _, object := range g.file.Objects {
		namespaces[object.Namespace] = true
	}
	lacks := "what an older set of another namespace has is not known"
	if g.facts.SetsRead = len(namespaces) <= few; !g.facts.SetsRead {
		lacks = "which ConfigMaps are sources of sets is not known"
	}
	for namespace := range namespaces {
		if !g.facts.SetsRead {
			break
		}
		_, err := g.Each(ctx, listing.List{Path: prefix + "/namespaces/" + namespace + "/configmapreplicasets"}, add)
		if err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("list the ConfigMapReplicaSets of namespace %s: %w", namespace, err)
		}
		if err != nil {
			g.facts.SetsRead, lacks = false, "which ConfigMaps of namespace "+namespace+" are sources of sets is not known"
		}
	}
	g.facts.NotRead = append(g.facts.NotRead, plan.NotRead{Resource: "ConfigMapReplicaSets", Error: forbidden.Error(), Lacks: lacks})
	return nil
}

// objects asks what applying each object of the file makes of it.
func (g *gatherer) objects(ctx context.Context) {
	var wanted []plan.FileObject
	for _, object := range g.file.Objects {
		if object.Kind == plan.SetKind || !g.facts.Skips(object.Namespace) {
			wanted = append(wanted, object)
		}
	}
	outcomes := make([]outcome, len(wanted))
	each(len(wanted), func(i int) { outcomes[i] = g.ask(ctx, wanted[i], g.writes, g.file.Namespaces) })
	for i, object := range wanted {
		o := outcomes[i]
		if o.notAsked != nil {
			g.notAsked++
			g.why = o.notAsked
		}
		if object.Kind == plan.SetKind {
			g.addSet(object, o)
		} else {
			g.addConfigMap(object, o)
		}
	}
}

func (g *gatherer) addConfigMap(object plan.FileObject, o outcome) {
	c := &plan.ConfigMap{Key: object.Key, Failure: o.failure}
	var errs [2]error
	c.Live, errs[0] = decoded[corev1.ConfigMap](o.live)
	c.After, errs[1] = decoded[corev1.ConfigMap](o.after)
	if err := errors.Join(errs[:]...); err != nil && c.Failure == nil {
		c.Failure = &plan.Failure{Reason: "Refused", Message: err.Error()}
	}
	if c.Failure != nil {
		c.After = nil
	}
	g.facts.ConfigMaps[object.Key] = c
}

func (g *gatherer) addSet(object plan.FileObject, o outcome) {
	var set *plan.Set
	for _, known := range g.facts.Sets {
		if known.Key == object.Key {
			set = known
		}
	}
	if set == nil {
		set = &plan.Set{Key: object.Key}
		g.facts.Sets = append(g.facts.Sets, set)
	}
	set.InFile, set.Failure = true, o.failure
	after, err := decoded[v1alpha1.ConfigMapReplicaSet](o.after)
	if err == nil && set.Live == nil { // the list may be forbidden
		set.Live, err = decoded[v1alpha1.ConfigMapReplicaSet](o.live)
		set.After = set.Live
	}
	if err != nil && set.Failure == nil {
		set.Failure = &plan.Failure{Reason: "Refused", Message: err.Error()}
	}
	if set.Failure == nil {
		set.After = after
	}
}

// decoded returns an object, or nil if there is none.
func decoded[T any](raw []byte) (*T, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	object := new(T)
	return object, json.Unmarshal(raw, object)
}

// sources reads the sources of the sets that are not in the file.
func (g *gatherer) sources(ctx context.Context) error {
	keys := g.facts.SourceKeys()
	found, errs := make([]*corev1.ConfigMap, len(keys)), make([]error, len(keys))
	each(len(keys), func(i int) {
		raw, err := g.live(ctx, plan.FileObject{Kind: plan.ConfigMapKind, Key: keys[i]})
		if err == nil {
			found[i], err = decoded[corev1.ConfigMap](raw)
		}
		if err != nil {
			errs[i] = fmt.Errorf("get ConfigMap %s, a source: %w", keys[i], err)
		}
	})
	for i, key := range keys {
		if found[i] != nil {
			g.facts.Sources[key] = found[i]
		}
	}
	return errors.Join(errs...)
}

// placements reads the Placements and their decisions.
func (g *gatherer) placements(ctx context.Context) error {
	keys := g.facts.PlacementKeys()
	found, errs := make([]hubplan.Placement, len(keys)), make([]error, len(keys))
	each(len(keys), func(i int) { found[i], errs[i] = g.placement(ctx, keys[i]) })
	for i, key := range keys {
		g.facts.Placements[key] = found[i]
	}
	return errors.Join(errs...)
}

func (g *gatherer) placement(ctx context.Context, key plan.Key) (hubplan.Placement, error) {
	if plan.CheckKey(key) != nil {
		return hubplan.NewPlacement(nil, nil), nil // no Placement has such a name
	}
	prefix := "/apis/" + clusterv1.GroupName + "/v1beta1/namespaces/" + key.Namespace
	placement := &clusterv1beta1.Placement{}
	err := g.Get(ctx, prefix+"/placements/"+key.Name, placement)
	switch {
	case apierrors.IsNotFound(err):
		return hubplan.NewPlacement(nil, nil), nil
	case apierrors.IsForbidden(err):
		return hubplan.Placement{Problem: err.Error()}, nil
	case err != nil:
		return hubplan.Placement{}, fmt.Errorf("get Placement %s: %w", key, err)
	}
	var decisions []*clusterv1beta1.PlacementDecision
	_, err = g.Each(ctx, listing.List{Path: prefix + "/placementdecisions", Parameters: map[string]string{"labelSelector": clusterv1beta1.PlacementLabel + "=" + key.Name}},
		func(decode func(any) error) error {
			decision := &clusterv1beta1.PlacementDecision{}
			decisions = append(decisions, decision)
			return decode(decision)
		})
	switch {
	case apierrors.IsForbidden(err):
		return hubplan.Placement{Problem: err.Error()}, nil
	case err != nil:
		return hubplan.Placement{}, fmt.Errorf("list the PlacementDecisions of Placement %s: %w", key, err)
	}
	return hubplan.NewPlacement(placement, decisions), nil
}

// delivered reads the ConfigMaps that the changed sets have on clusters, and those that may be in their way.
func (g *gatherer) delivered(ctx context.Context) {
	var lists []map[string]string
	var uids []string
	for _, uid := range g.facts.SetUIDs() {
		uids = append(uids, string(uid))
		lists = append(lists, map[string]string{"labelSelector": manifests.ReplicaSetUIDLabel + "=" + string(uid)})
	}
	others := ""
	if len(uids) > 0 {
		others = manifests.ReplicaSetUIDLabel + " notin (" + strings.Join(uids, ",") + ")"
	}
	for _, name := range g.facts.SourceNames() {
		lists = append(lists, map[string]string{"fieldSelector": "metadata.name=" + name, "labelSelector": others})
	}
	var mu sync.Mutex
	contents := map[string]*render.Content{}
	errs := make([]error, len(lists))
	each(len(lists), func(i int) {
		_, errs[i] = g.Each(ctx, listing.List{Path: "/api/v1/configmaps", Parameters: lists[i]}, func(decode func(any) error) error {
			configMap := &corev1.ConfigMap{}
			if err := decode(configMap); err != nil {
				return err
			}
			object := plan.NewObject(configMap)
			mu.Lock()
			defer mu.Unlock()
			// Clusters with the same content share it.
			if known := contents[object.Content]; known != nil {
				object.Contents = known
			}
			contents[object.Content] = object.Contents
			g.facts.Objects = append(g.facts.Objects, object)
			return nil
		})
	})
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		g.facts.ObjectsRead, g.facts.Objects = false, nil
		g.facts.NotRead = append(g.facts.NotRead, plan.NotRead{Resource: "ConfigMaps of all namespaces", Error: errs[i].Error(),
			Lacks: "the diff is between what the sources make now and then, and names that others have are not known"})
	}
}

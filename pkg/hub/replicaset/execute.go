package replicaset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/internal/retry"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// writers is how many clusters of one set are written to at the same time.
	writers = 16
	// tolerated is how many writes to clusters may fail before the others wait for the next plan: the hub may be away.
	tolerated = 2 * writers
	// refusedBase and refusedMax bound the wait before a write is tried again that the API server refuses.
	refusedBase = 5 * time.Second
	refusedMax  = 2 * time.Minute
	// refusedGrace is how long the API server has to refuse before a plan counts it. For example, the right to write
	// to a cluster's namespace follows its ManagedClusterAddOn.
	refusedGrace = 30 * time.Second
)

// errStale ends the writes to a cluster whose objects are not as planned. The caches will show them.
var errStale = errors.New("the object has changed since it was planned")

// refusals are the writes of one set that the API server refuses, by cluster.
type refusals struct {
	mu        sync.Mutex
	byCluster map[string]refused
}

type refused struct {
	plan.Refusal
	failures int
	next     time.Time
}

// list returns the refusals that a plan counts.
func (r *refusals) list(now time.Time) (all []plan.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, refused := range r.byCluster {
		if now.Sub(refused.Since) >= refusedGrace {
			all = append(all, refused.Refusal)
		}
	}
	return all
}

// keep forgets the refusals whose write is no longer planned. It reports whether there were any.
func (r *refusals) keep(writes []plan.Write) (dropped bool) {
	type target struct{ cluster, revision string }
	planned := map[target]bool{}
	for _, w := range writes {
		planned[target{w.Cluster, w.Revision}] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for cluster, refused := range r.byCluster {
		if !planned[target{cluster, refused.Revision}] {
			delete(r.byCluster, cluster)
			dropped = true
		}
	}
	return dropped
}

// wait returns when a cluster may be written to again, or zero.
func (r *refusals) wait(cluster, revision string, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.byCluster[cluster]; ok && before.Revision == revision && now.Before(before.next) {
		return before.next
	}
	return time.Time{}
}

// record records the outcome of the writes to a cluster.
func (r *refusals) record(cluster, revision, message string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if message == "" {
		delete(r.byCluster, cluster)
		return
	}
	before, ok := r.byCluster[cluster]
	if !ok || before.Revision != revision {
		before = refused{Refusal: plan.Refusal{Cluster: cluster, Revision: revision, Since: now}}
	}
	before.Message = message
	before.failures++
	before.next = now.Add(retry.Delay(before.failures, refusedBase, refusedMax))
	r.byCluster[cluster] = before
}

// refusal returns why the API server refuses a write, or an empty string for another error. Not every refusal
// lasts, so a plan counts it only after refusedGrace. For example, an admission webhook that denies a write may
// answer with any code.
func refusal(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil, errors.Is(err, errStale), !errors.As(err, &status), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err),
		apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return ""
	}
	return err.Error()
}

// execute carries out a plan of a set. It returns when a refused write is tried again, or zero.
func (c *Controller) execute(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, result plan.Result) (time.Time, error) {
	switch {
	case result.AddFinalizer:
		return time.Time{}, c.finalizers(ctx, set, append(set.Finalizers[:len(set.Finalizers):len(set.Finalizers)], manifests.ReplicaSetFinalizer))
	case result.RemoveFinalizer:
		return time.Time{}, c.finish(ctx, set)
	}
	if result.StoreRevision != nil {
		if err := c.store(ctx, s, set, result.StoreRevision); err != nil {
			return time.Time{}, err
		}
	}
	if s.refusals.keep(result.Writes) {
		c.queue.AddAfter(keyOf(set), settle)
	}
	next, err := c.write(ctx, s, set, result.Writes)
	return next, joined(err, c.deleteRevisions(ctx, set, result.DeleteRevisions), c.report(ctx, set, result))
}

// finalizers sets the finalizers of a set.
func (c *Controller) finalizers(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": set.ResourceVersion, "finalizers": finalizers}})
	if err != nil {
		return fmt.Errorf("encode the finalizers of a ConfigMapReplicaSet: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.clients.sets(set.Namespace).Patch(ctx, set.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("set the finalizers of ConfigMapReplicaSet %s: %w", klog.KObj(set), stale(err))
	}
	return nil
}

// finish removes the finalizer of a set of which nothing is left, by the API server and not by the caches:
// they may lack the last write of a former leader, or an add-on that was enabled again.
func (c *Controller) finish(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet) error {
	listCtx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	left, err := c.clients.kube.CoreV1().ConfigMaps(metav1.NamespaceAll).List(listCtx,
		metav1.ListOptions{LabelSelector: manifests.ReplicaSetUIDLabel + "=" + string(set.UID)})
	if err != nil {
		return fmt.Errorf("list the ConfigMaps of ConfigMapReplicaSet %s: %w", klog.KObj(set), err)
	}
	disabled := map[string]bool{}
	for i := range left.Items {
		object := plan.NewObject(&left.Items[i], "")
		if !object.Owned(set) || disabled[object.Cluster] {
			continue
		}
		enabled, err := c.clients.enabled(ctx, object.Cluster)
		if err != nil {
			return err
		}
		if enabled {
			return fmt.Errorf("%w: ConfigMap %s/%s is left of ConfigMapReplicaSet %s", errStale, object.Cluster, object.Name, klog.KObj(set))
		}
		disabled[object.Cluster] = true
	}
	others := slices.DeleteFunc(slices.Clone(set.Finalizers), func(f string) bool { return f == manifests.ReplicaSetFinalizer })
	return c.finalizers(ctx, set, others)
}

// store stores the revision of the sources, or gives a stored one a higher number.
func (c *Controller) store(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, revision *plan.Revision) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client := c.clients.kube.AppsV1().ControllerRevisions(set.Namespace)
	if stored := c.caches.revision(set, revision.Name); stored != nil {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"revision":%d}`, stored.UID, stored.ResourceVersion, revision.Number)
		if _, err := client.Patch(ctx, stored.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("set the number of ControllerRevision %s: %w", klog.KObj(stored), stale(err))
		}
		return nil
	}
	if s.contents.desired.data.Raw == nil {
		s.contents.sources = "" // read them again
		return fmt.Errorf("%w: ControllerRevision %s/%s was deleted", errStale, set.Namespace, revisionName(set, revision.Name))
	}
	_, err := client.Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: revisionName(set, revision.Name),
			Labels: map[string]string{manifests.ManagedByLabel: manifests.ManagedByReplicaSet, manifests.ReplicaSetUIDLabel: string(set.UID),
				manifests.RevisionAnnotation: revision.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.GroupVersion.WithKind("ConfigMapReplicaSet"))},
		},
		Data: s.contents.desired.data, Revision: revision.Number,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create ControllerRevision %s/%s: %w", set.Namespace, revisionName(set, revision.Name), stale(err))
	}
	klog.FromContext(ctx).Info("Stored revision", "set", klog.KObj(set), "revision", revision.Name, "number", revision.Number)
	return nil
}

// deleteRevisions deletes stored revisions.
func (c *Controller) deleteRevisions(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, names []string) error {
	var errs []error
	for _, name := range names {
		stored := c.caches.revision(set, name)
		if stored == nil {
			continue
		}
		deleteCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		err := c.clients.kube.AppsV1().ControllerRevisions(set.Namespace).Delete(deleteCtx, stored.Name, preconditions(stored.UID, stored.ResourceVersion))
		cancel()
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete ControllerRevision %s: %w", klog.KObj(stored), stale(err)))
		}
	}
	return joined(errs...)
}

func preconditions(uid types.UID, version string) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
}

// report writes the status, and then the events.
func (c *Controller) report(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, result plan.Result) error {
	if equality.Semantic.DeepEqual(set.Status, result.Status) {
		return nil
	}
	changed := set.DeepCopy()
	changed.Status = result.Status
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.clients.sets(set.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("write the status of ConfigMapReplicaSet %s: %w", klog.KObj(set), stale(err))
	}
	for _, event := range result.Events {
		c.recorder.Event(set, event.Type, event.Reason, event.Message)
	}
	c.metrics.rolledOut(set, result.Status)
	return nil
}

// write makes the writes, those to one cluster one after the other. It returns when a refused one is tried
// again, or zero.
func (c *Controller) write(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, writes []plan.Write) (next time.Time, err error) {
	var group errgroup.Group
	group.SetLimit(writers)
	var mu sync.Mutex
	var errs []error
	var again error
	failed := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(errs)
	}
	for len(writes) > 0 && ctx.Err() == nil && failed() < tolerated {
		cluster, n := writes[0].Cluster, 0
		for n < len(writes) && writes[n].Cluster == cluster {
			n++
		}
		here := writes[:n]
		writes = writes[n:]
		if wait := s.refusals.wait(cluster, here[0].Revision, c.clock.Now()); !wait.IsZero() {
			if next.IsZero() || wait.Before(next) {
				next = wait
			}
			continue
		}
		group.Go(func() error {
			err := c.writeCluster(ctx, s, set, here)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errStale) {
				again = err
			} else if err != nil {
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait()
	const most = 3
	if n := len(errs) - most; n > 0 {
		errs = append(errs[:most], fmt.Errorf("and %d more", n))
	}
	return next, joined(append(errs, again)...)
}

// joined returns the errors without those that only ask for another plan, unless there are no others.
func joined(errs ...error) error {
	var again error
	var others []error
	for _, err := range errs {
		if errors.Is(err, errStale) {
			again = err
		} else if err != nil {
			others = append(others, err)
		}
	}
	if len(others) == 0 {
		return again
	}
	return errors.Join(others...)
}

// writeCluster makes the writes to one cluster, until one fails. A write that the API server refuses is recorded in
// refusals and returns no error.
func (c *Controller) writeCluster(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, writes []plan.Write) error {
	for _, w := range writes {
		err := c.writeOne(ctx, s, set, w)
		message := refusal(err)
		if err == nil || message != "" {
			s.refusals.record(w.Cluster, w.Revision, message, c.clock.Now())
		}
		switch {
		case message != "":
			c.queue.AddAfter(types.NamespacedName{Namespace: set.Namespace, Name: set.Name}, settle) // for the status
			klog.FromContext(ctx).Info("Skipped cluster: write refused", "set", klog.KObj(set), "write", w.String(), "reason", message)
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

// writeOne makes one write, and records it until the cache shows it.
func (c *Controller) writeOne(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, w plan.Write) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client := c.clients.kube.CoreV1().ConfigMaps(w.Cluster)
	var content render.Content
	if w.Revision != "" {
		var ok bool
		if content, ok = s.contents.configMap(c.caches.cluster(w.Cluster), w.Revision, w.Name, w.Content); !ok {
			return errStale // the ManagedCluster has changed
		}
	}
	var written *corev1.ConfigMap
	var err error
	switch w.Action {
	case plan.Create:
		written, err = client.Create(ctx, newConfigMap(set, w, content, nil), metav1.CreateOptions{})
	case plan.Replace:
		written, err = c.replace(ctx, s, set, w, content)
	case plan.Update:
		var patch []byte
		if patch, err = updatePatch(w, content); err == nil {
			written, err = client.Patch(ctx, w.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		}
	case plan.Release:
		_, err = client.Patch(ctx, w.Name, types.MergePatchType, releasePatch(w), metav1.PatchOptions{})
	case plan.Delete:
		err = client.Delete(ctx, w.Name, preconditions(w.UID, w.ResourceVersion))
	}
	switch {
	case apierrors.IsNotFound(err) && w.Action == plan.Update:
		return fmt.Errorf("%w: %w", errStale, err)
	case apierrors.IsNotFound(err) && w.Revision == "":
		// It is gone, as wanted.
	case err != nil:
		return stale(err)
	}
	record := write{at: c.clock.Now(), gone: w.UID, version: w.ResourceVersion}
	if written != nil {
		record = write{at: c.clock.Now(), object: plan.NewObject(written, w.Content)}
	}
	s.recent.record(w.Cluster, w.Name, record)
	return nil
}

// stale returns an errStale for an object that is not as planned.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: %w", errStale, err)
	}
	return err
}

// replace deletes an immutable ConfigMap and creates it again with the labels and annotations of others.
func (c *Controller) replace(ctx context.Context, s *state, set *v1alpha1.ConfigMapReplicaSet, w plan.Write, content render.Content) (*corev1.ConfigMap, error) {
	client := c.clients.kube.CoreV1().ConfigMaps(w.Cluster)
	present, err := client.Get(ctx, w.Name, metav1.GetOptions{})
	if err == nil {
		err = client.Delete(ctx, w.Name, preconditions(w.UID, w.ResourceVersion))
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: %w", errStale, err)
	case err != nil:
		return nil, err
	}
	s.recent.record(w.Cluster, w.Name, write{at: c.clock.Now(), gone: w.UID, version: w.ResourceVersion})
	return client.Create(ctx, newConfigMap(set, w, content, present), metav1.CreateOptions{})
}

// newConfigMap returns a ConfigMap to create, with the labels and annotations of a former one, if there is one.
func newConfigMap(set *v1alpha1.ConfigMapReplicaSet, w plan.Write, content render.Content, former *corev1.ConfigMap) *corev1.ConfigMap {
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster, Name: w.Name}, Data: content.Data, BinaryData: content.BinaryData}
	if former != nil {
		created.Labels, created.Annotations = maps.Clone(former.Labels), maps.Clone(former.Annotations)
	}
	if content.Immutable {
		created.Immutable = &content.Immutable
	}
	metav1.SetMetaDataLabel(&created.ObjectMeta, manifests.ManagedByLabel, manifests.ManagedByReplicaSet)
	metav1.SetMetaDataLabel(&created.ObjectMeta, manifests.ReplicaSetUIDLabel, string(set.UID))
	metav1.SetMetaDataAnnotation(&created.ObjectMeta, manifests.ReplicaSetAnnotation, set.Namespace+"/"+set.Name)
	for name, value := range revisionMarks(w) {
		metav1.SetMetaDataAnnotation(&created.ObjectMeta, name, value)
	}
	return created
}

// revisionMarks are the annotations that change with the revision.
func revisionMarks(w plan.Write) map[string]string {
	return map[string]string{manifests.RevisionAnnotation: w.Revision, manifests.RevisionSinceAnnotation: w.Since.UTC().Format(time.RFC3339)}
}

// updatePatch returns a JSON patch that gives an owned ConfigMap another content and revision. A merge
// patch would leave keys that the content no longer has. With another UID or resourceVersion the API
// server answers with a conflict.
func updatePatch(w plan.Write, content render.Content) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var immutable *bool
	if content.Immutable {
		immutable = &content.Immutable
	}
	operations := []operation{
		{"replace", "/metadata/uid", w.UID},
		{"replace", "/metadata/resourceVersion", w.ResourceVersion},
		{"add", "/data", content.Data},
		{"add", "/binaryData", content.BinaryData},
		{"add", "/immutable", immutable},
	}
	marks := revisionMarks(w)
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		operations = append(operations, operation{"add", "/metadata/annotations/" + strings.ReplaceAll(name, "/", "~1"), marks[name]})
	}
	var patch bytes.Buffer
	encoder := json.NewEncoder(&patch)
	encoder.SetEscapeHTML(false) // otherwise each < and > takes six bytes
	if err := encoder.Encode(operations); err != nil {
		return nil, fmt.Errorf("encode a patch of ConfigMap %s/%s: %w", w.Cluster, w.Name, err)
	}
	return patch.Bytes(), nil
}

// releasePatch takes the marks of its set off a ConfigMap.
func releasePatch(w plan.Write) []byte {
	return fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q,"labels":{%q:null,%q:null},"annotations":{%q:null,%q:null,%q:null}}}`,
		w.UID, w.ResourceVersion, manifests.ManagedByLabel, manifests.ReplicaSetUIDLabel,
		manifests.ReplicaSetAnnotation, manifests.RevisionAnnotation, manifests.RevisionSinceAnnotation)
}

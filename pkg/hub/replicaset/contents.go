package replicaset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/plan"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// contents are what one set delivers: the revision of its sources as they are now, the programs of
// the revisions in use, and what each cluster gets with them. One reconcile at a time uses them.
type contents struct {
	// sources names the versions of the sources and values that desired was made of.
	sources string
	desired desired
	// compiled are the revisions in use, by name.
	compiled map[string]*compiled
}

// desired is the revision of the sources as they are now.
type desired struct {
	name string
	// data is the encoded revision until it is stored.
	data runtime.RawExtension
	// problem is why there is none.
	problem string
}

// compiled is a revision with what clusters get of it.
type compiled struct {
	program *render.Program
	// problem is why there is no program: the stored revision cannot be read.
	problem string
	// names are those of the ConfigMaps, in their order. rendered is by cluster.
	names    []string
	rendered map[string]rendered
	// last is the text of the last one: clusters with the same content share it.
	last string
}

// rendered is what a cluster of this version gets. There is one for each cluster of each set, so it is small.
type rendered struct {
	version string
	// text has the hashes of the ConfigMaps, in the order of their names, or why there are none.
	text   string
	failed bool
}

// refresh makes desired the revision of the sources as they are now. It reads sources only when one of them has changed.
func (c *contents) refresh(ctx context.Context, k *caches, clients *clients, set *v1alpha1.ConfigMapReplicaSet) error {
	sources := fmt.Sprintf("%d", set.Generation)
	for _, ref := range set.Spec.ConfigMaps {
		sources += "/" + ref.Name + "=" + k.version(set.Namespace, ref.Name)
	}
	if sources == c.sources {
		return nil
	}
	var all []render.Content
	for _, ref := range set.Spec.ConfigMaps {
		source, err := getSource(ctx, clients, set, ref.Name)
		switch {
		case err != nil:
			return err
		case source == nil:
			c.sources, c.desired = sources, desired{problem: fmt.Sprintf("ConfigMap %s/%s does not exist", set.Namespace, ref.Name)}
			return nil
		}
		all = append(all, render.ContentOf(source))
	}
	c.sources, c.desired = sources, c.desiredOf(render.NewRevision(all, set.Spec.Values))
	return nil
}

// getSource returns a source, or nil if it does not exist.
func getSource(ctx context.Context, clients *clients, set *v1alpha1.ConfigMapReplicaSet, name string) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	source, err := clients.kube.CoreV1().ConfigMaps(set.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get ConfigMap %s/%s: %w", set.Namespace, name, err)
	}
	return source, nil
}

// desiredOf compiles a revision. One that does not compile is not stored.
func (c *contents) desiredOf(revision render.Revision) desired {
	data, name, err := revision.Encode()
	if err != nil {
		return desired{problem: err.Error()}
	}
	// A stored revision of this name may have been changed by others; the sources are as they are.
	if known := c.compiled[name]; known == nil || known.program == nil {
		program, err := render.Compile(revision)
		if err != nil {
			return desired{problem: err.Error()}
		}
		c.compiled[name] = &compiled{program: program, rendered: map[string]rendered{}}
	}
	return desired{name: name, data: data}
}

// load compiles the stored revisions that are in use, and forgets the others.
func (c *contents) load(ctx context.Context, clients *clients, set *v1alpha1.ConfigMapReplicaSet, inUse []string) error {
	for _, name := range inUse {
		if c.compiled[name] != nil {
			continue
		}
		getCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		stored, err := clients.kube.AppsV1().ControllerRevisions(set.Namespace).Get(getCtx, revisionName(set, name), metav1.GetOptions{})
		cancel()
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: ControllerRevision %s/%s is gone", errStale, set.Namespace, revisionName(set, name))
		}
		if err != nil {
			return fmt.Errorf("get ControllerRevision %s/%s: %w", set.Namespace, revisionName(set, name), err)
		}
		c.compiled[name] = compile(ctx, name, stored.Data)
	}
	for name := range c.compiled {
		if name != c.desired.name && !slices.Contains(inUse, name) {
			delete(c.compiled, name)
		}
	}
	return nil
}

// compile returns a stored revision. One that was changed by others is not used.
func compile(ctx context.Context, name string, data runtime.RawExtension) *compiled {
	revision, err := render.Decode(data)
	if err == nil {
		var hash string
		if _, hash, err = revision.Encode(); err == nil && hash != name {
			err = fmt.Errorf("it has the content of %s", hash)
		}
	}
	result := &compiled{rendered: map[string]rendered{}}
	if err == nil {
		result.program, err = render.Compile(revision)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot use a stored revision", "revision", name)
		result.program, result.problem = nil, fmt.Sprintf("revision %s is not usable: %v", name, err)
	}
	return result
}

// of returns what a cluster gets with a revision.
func (c *contents) of(cluster *clusterv1.ManagedCluster, revision string) plan.Content {
	compiled := c.compiled[revision]
	switch {
	case compiled == nil:
		return plan.Content{Problem: "revision " + revision + " is not stored"}
	case compiled.program == nil:
		return plan.Content{Problem: compiled.problem}
	}
	known, ok := compiled.rendered[cluster.Name]
	if !ok || known.version != cluster.ResourceVersion {
		known = compiled.render(cluster)
		compiled.rendered[cluster.Name] = known
	}
	return known.content(compiled.names)
}

// render returns what a cluster gets.
func (c *compiled) render(cluster *clusterv1.ManagedCluster) rendered {
	all, err := c.program.Render(cluster)
	if err != nil {
		return rendered{version: cluster.ResourceVersion, text: err.Error(), failed: true}
	}
	var hashes strings.Builder
	c.names = c.names[:0]
	for _, one := range all {
		c.names = append(c.names, one.Name)
		hashes.WriteString(one.Sum())
	}
	if hashes.String() != c.last {
		c.last = hashes.String()
	}
	return rendered{version: cluster.ResourceVersion, text: c.last}
}

// content returns what a plan reads. names are those of the ConfigMaps.
func (r rendered) content(names []string) plan.Content {
	if r.failed {
		return plan.Content{Problem: r.text}
	}
	content := plan.Content{Hashes: make(map[string]string, len(names))}
	size := len(r.text) / max(1, len(names)) // all hashes have the same length
	for i, name := range names {
		content.Hashes[name] = r.text[i*size : (i+1)*size]
	}
	return content
}

// keep forgets what clusters get that no longer concern the set, and the data of a revision that is stored.
func (c *contents) keep(stored []plan.Revision, concerned map[string]bool) {
	if slices.ContainsFunc(stored, func(r plan.Revision) bool { return r.Name == c.desired.name }) {
		c.desired.data = runtime.RawExtension{}
	}
	for _, compiled := range c.compiled {
		if len(compiled.rendered) > len(concerned) {
			maps.DeleteFunc(compiled.rendered, func(cluster string, _ rendered) bool { return !concerned[cluster] })
		}
	}
}

// configMap returns what a ConfigMap of a cluster holds with a revision. It reports false if that is not
// what was planned: the cluster has changed meanwhile.
func (c *contents) configMap(cluster *clusterv1.ManagedCluster, revision, name, hash string) (render.Content, bool) {
	compiled := c.compiled[revision]
	if compiled == nil || compiled.program == nil {
		return render.Content{}, false
	}
	all, err := compiled.program.Render(cluster)
	if err != nil {
		return render.Content{}, false
	}
	for _, content := range all {
		if content.Name == name && content.Sum() == hash {
			return content, true
		}
	}
	return render.Content{}, false
}

// revisionName returns the name of the ControllerRevision with a revision of a set. A part of the set's UID is in
// it, because a set of the same name may have left its revisions. The set's name may be as long as a name of
// a Kubernetes object.
func revisionName(set *v1alpha1.ConfigMapReplicaSet, revision string) string {
	uid, _, _ := strings.Cut(string(set.UID), "-")
	const most = 253 - 2 - 8 - 16
	return strings.TrimRight(set.Name[:min(len(set.Name), most)], ".-") + "-" + uid + "-" + revision
}

package memapi

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// collect does what the garbage collector and the namespace controller do, until nothing
// is left to do. The caller holds a.mu, so no client sees the states between.
//
// It deletes objects of which no owner exists, and what is in a namespace or of a
// CustomResourceDefinition that is being deleted. It ends deletions in the foreground and
// deletions that orphan.
func (a *API) collect() error {
	for {
		worked, err := a.collectOnce()
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		if !worked {
			return nil
		}
	}
}

// collectOnce goes through all objects once. It reports whether it changed any.
func (a *API) collectOnce() (bool, error) {
	c := collection{api: a, exist: sets.New[types.UID](), foreground: sets.New[types.UID](), dependents: map[types.UID]int{}}
	var terminating []stored
	for resource, t := range a.tables {
		for n, e := range t.objects {
			c.exist.Insert(e.uid)
			if e.terminating {
				terminating = append(terminating, stored{resource, n, e})
			}
		}
	}
	for _, s := range terminating {
		obj, err := s.entry.decode()
		if err != nil {
			return false, err
		}
		if slices.Contains(obj.GetFinalizers(), foregroundFinalizer) {
			c.foreground.Insert(s.entry.uid)
		}
	}
	c.count()
	if worked, err := c.orphans(); worked || err != nil {
		return worked, err
	}
	for _, s := range terminating {
		if worked, err := c.finish(s); worked || err != nil {
			return worked, err
		}
	}
	return false, nil
}

// stored is an object in its table.
type stored struct {
	resource schema.GroupResource
	name     name
	entry    *entry
}

// collection is what one pass of the collector knows of all objects.
type collection struct {
	api        *API
	exist      sets.Set[types.UID]
	foreground sets.Set[types.UID] // being deleted in the foreground
	dependents map[types.UID]int   // how many objects have it and no lasting owner
}

// count counts the dependents that an owner waits for when it is deleted in the
// foreground.
func (c *collection) count() {
	for _, t := range c.api.tables {
		for _, e := range t.objects {
			if slices.ContainsFunc(e.owners, c.keeps) {
				continue
			}
			for _, owner := range e.owners {
				c.dependents[owner]++
			}
		}
	}
}

// orphans deletes the objects of which every owner is gone, or is deleted in the
// foreground.
func (c *collection) orphans() (bool, error) {
	var absent []stored
	for resource, t := range c.api.tables {
		for n, e := range t.objects {
			if len(e.owners) > 0 && !e.terminating && !slices.ContainsFunc(e.owners, c.keeps) {
				absent = append(absent, stored{resource, n, e})
			}
		}
	}
	for _, s := range absent {
		if err := c.terminate(s); err != nil {
			return false, err
		}
	}
	return len(absent) > 0, nil
}

func (c *collection) keeps(owner types.UID) bool {
	return c.exist.Has(owner) && !c.foreground.Has(owner)
}

// kind returns the kind of s.
func (c *collection) kind(s stored) (*kind, error) {
	if k := c.api.storageKind(s.resource, s.entry.version); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("collect %s %s: no version of the resource is served", s.resource, s.name)
}

func (c *collection) terminate(s stored) error {
	k, err := c.kind(s)
	if err != nil {
		return err
	}
	if _, err := c.api.terminate(k, s.name, s.entry, nil); err != nil {
		return fmt.Errorf("delete %s %s: %w", s.resource, s.name, err)
	}
	return nil
}

// finish proceeds with the deletion of s.
func (c *collection) finish(s stored) (bool, error) {
	obj, err := s.entry.decode()
	if err != nil {
		return false, err
	}
	worked, done, finalizer := false, false, ""
	switch finalizers := obj.GetFinalizers(); {
	case slices.Contains(finalizers, orphanFinalizer):
		worked, err = c.release(s.entry.uid)
		done, finalizer = !worked, orphanFinalizer
	case slices.Contains(finalizers, foregroundFinalizer):
		done, finalizer = c.dependents[s.entry.uid] == 0, foregroundFinalizer
	case s.resource == namespaces.GroupResource():
		worked, err = c.empty(s.name.Name)
	case slices.Contains(finalizers, customFinalizer):
		worked, done, err = c.uninstall(obj)
		finalizer = customFinalizer
	}
	switch {
	case worked || err != nil:
		return worked, err
	case done:
		return true, c.finalized(s, obj, finalizer)
	}
	k, err := c.kind(s)
	if err != nil || !c.api.gone(k, obj) {
		return false, err
	}
	_, err = c.api.remove(k, s.name, obj)
	return true, err
}

// finalized removes a finalizer from an object that is being deleted.
func (c *collection) finalized(s stored, obj *unstructured.Unstructured, finalizer string) error {
	setFinalizers(obj, slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == finalizer }))
	k, err := c.kind(s)
	switch {
	case err != nil:
	case c.api.gone(k, obj):
		_, err = c.api.remove(k, s.name, obj)
	default:
		_, err = c.api.put(k, obj)
	}
	return err
}

// release removes the references to an owner from its dependents.
func (c *collection) release(owner types.UID) (bool, error) {
	var dependents []stored
	for resource, t := range c.api.tables {
		for n, e := range t.objects {
			if slices.Contains(e.owners, owner) {
				dependents = append(dependents, stored{resource, n, e})
			}
		}
	}
	for _, s := range dependents {
		k, err := c.kind(s)
		if err != nil {
			return false, err
		}
		obj, err := s.entry.decode()
		if err != nil {
			return false, err
		}
		left := slices.DeleteFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner })
		if len(left) == 0 {
			left = nil
		}
		obj.SetOwnerReferences(left)
		if _, err := c.api.put(k, obj); err != nil {
			return false, fmt.Errorf("orphan %s %s: %w", s.resource, s.name, err)
		}
	}
	return len(dependents) > 0, nil
}

// empty deletes what is in a namespace.
func (c *collection) empty(namespace string) (bool, error) {
	var content []stored
	for resource, t := range c.api.tables {
		for n, e := range t.objects {
			if n.Namespace == namespace && !e.terminating {
				content = append(content, stored{resource, n, e})
			}
		}
	}
	for _, s := range content {
		if err := c.terminate(s); err != nil {
			return false, err
		}
	}
	return len(content) > 0, nil
}

// uninstall deletes the objects of a CustomResourceDefinition. It reports whether it
// deleted any, and whether none are left.
func (c *collection) uninstall(crd *unstructured.Unstructured) (worked, done bool, err error) {
	resource := crdResource(crd)
	var instances []stored
	objects := c.api.table(resource).objects
	for n, e := range objects {
		if !e.terminating {
			instances = append(instances, stored{resource, n, e})
		}
	}
	for _, s := range instances {
		if err := c.terminate(s); err != nil {
			return false, false, err
		}
	}
	return len(instances) > 0, len(objects) == 0, nil
}

// emptyNamespace reports whether no object is in a namespace.
func (a *API) emptyNamespace(namespace string) bool {
	for _, t := range a.tables {
		for n := range t.objects {
			if n.Namespace == namespace {
				return false
			}
		}
	}
	return true
}

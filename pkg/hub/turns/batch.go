package turns

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	"open-cluster-management.io/sdk-go/pkg/patcher"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Batch holds back the patches of the status of a cluster's add-on, to send them as one.
// The Lister has the add-on as patched, so that the next patch is based on it.
type Batch struct {
	turns   *Turns
	cluster string
	// base is the add-on in the cache, and patched is that with the patches; nil if there
	// were none.
	base, patched *addonv1beta1.ManagedClusterAddOn
}

// Batch begins a batch. It needs the cluster's turn, and ends with Flush.
func (t *Turns) Batch(cluster string) *Batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := &Batch{turns: t, cluster: cluster}
	t.batches[cluster] = b
	return b
}

// Flush ends the batch, and sends its patches to client as one.
func (b *Batch) Flush(ctx context.Context, client addonPatcher) error {
	b.turns.mu.Lock()
	delete(b.turns.batches, b.cluster)
	b.turns.mu.Unlock()
	if b.patched == nil {
		return nil
	}
	writer := patcher.NewPatcher[*addonv1beta1.ManagedClusterAddOn, addonv1beta1.ManagedClusterAddOnSpec, addonv1beta1.ManagedClusterAddOnStatus](client)
	if _, err := writer.PatchStatus(ctx, b.patched, b.patched.Status, b.base.Status); err != nil {
		return fmt.Errorf("write the status of ManagedClusterAddOn %s: %w", klog.KObj(b.base), err)
	}
	return nil
}

type addonPatcher = patcher.PatchClient[*addonv1beta1.ManagedClusterAddOn]

// hold adds a merge patch to the cluster's batch. ok reports whether there is one, which
// can take it.
func (t *Turns) hold(cluster string, kind types.PatchType, patch []byte, subresources []string) (patched *addonv1beta1.ManagedClusterAddOn, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.batches[cluster]
	if b == nil || kind != types.MergePatchType || len(subresources) != 1 || subresources[0] != "status" {
		return nil, false
	}
	base, current := b.base, b.patched
	if current == nil {
		cached, err := t.cached.ManagedClusterAddOns(cluster).Get(manifests.AddonName)
		if err != nil {
			return nil, false
		}
		base, current = cached, cached
	}
	next, err := merge(current, patch)
	if err != nil || next.UID != base.UID || next.ResourceVersion != base.ResourceVersion {
		return nil, false // the patch is for another version: the API server decides
	}
	b.base, b.patched = base, next
	return next.DeepCopy(), true
}

func merge(addOn *addonv1beta1.ManagedClusterAddOn, patch []byte) (*addonv1beta1.ManagedClusterAddOn, error) {
	content, err := json.Marshal(addOn)
	if err != nil {
		return nil, err
	}
	content, err = jsonpatch.MergePatch(content, patch)
	if err != nil {
		return nil, err
	}
	merged := &addonv1beta1.ManagedClusterAddOn{}
	return merged, json.Unmarshal(content, merged)
}

// Lister returns a lister of the cache, which has what a batch holds back.
func (t *Turns) Lister() addonlisters.ManagedClusterAddOnLister {
	return lister{t.cached, t}
}

type lister struct {
	addonlisters.ManagedClusterAddOnLister
	turns *Turns
}

// ManagedClusterAddOns returns the lister of a cluster's add-ons.
func (l lister) ManagedClusterAddOns(cluster string) addonlisters.ManagedClusterAddOnNamespaceLister {
	return listerIn{l.ManagedClusterAddOnLister.ManagedClusterAddOns(cluster), l.turns, cluster}
}

type listerIn struct {
	addonlisters.ManagedClusterAddOnNamespaceLister
	turns   *Turns
	cluster string
}

// Get returns the add-on.
func (l listerIn) Get(name string) (*addonv1beta1.ManagedClusterAddOn, error) {
	l.turns.mu.Lock()
	defer l.turns.mu.Unlock()
	if b := l.turns.batches[l.cluster]; b != nil && b.patched != nil && name == manifests.AddonName {
		return b.patched, nil
	}
	return l.ManagedClusterAddOnNamespaceLister.Get(name)
}

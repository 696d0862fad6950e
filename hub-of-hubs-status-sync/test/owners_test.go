//go:build postgres

package hubofhubs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// collectGarbage runs Kubernetes' garbage collector until the test ends.
func (w *world) collectGarbage() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	command := exec.CommandContext(ctx, filepath.Join(os.Getenv("SANDBOX_PROGRAMS"), "kube-controller-manager"),
		"--kubeconfig="+w.adminKubeconfig(), "--controllers=garbage-collector-controller", "--leader-elect=false", "--secure-port=0")
	output := &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	w.must(command.Start())
	w.Cleanup(func() {
		cancel()
		_ = command.Wait()
		if w.Failed() {
			fmt.Fprintf(os.Stderr, "kube-controller-manager:\n%s\n", output)
		}
	})
}

// owners are those of oneOfEach that own objects.
var owners = map[string]schema.GroupVersionKind{
	"placement":    entryOf(status.KindPlacementDecision).Owner,
	"subscription": entryOf(status.KindSubscriptionReport).Owner,
}

// owned returns the objects of the test's namespace, of each kind that the sync
// creates with an owner.
func (w *world) owned() (all []unstructured.Unstructured) {
	w.Helper()
	for _, entry := range status.Entries() {
		if entry.Owner.Empty() {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(entry.Object.GroupVersion().WithKind(entry.Object.Kind + "List"))
		w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
		all = append(all, list.Items...)
	}
	return all
}

// TestOwnerDeleted: an object is deleted with its Placement or Subscription and is
// not created again, for each propagation policy. With Orphan the objects stay
// unchanged, without an owner.
func TestOwnerDeleted(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy metav1.DeletionPropagation
		left   bool
	}{
		{"in the background", metav1.DeletePropagationBackground, false},
		{"in the foreground: the owner waits for what it owns", metav1.DeletePropagationForeground, false},
		{"orphans", metav1.DeletePropagationOrphan, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.collectGarbage()
			ids := w.oneOfEach()
			w.sync()
			w.converge()
			before := w.owned()
			if len(before) != 4 {
				t.Fatalf("%d objects, not two PlacementDecisions, a SubscriptionStatus and a SubscriptionReport", len(before))
			}
			w.deleteOwners(c.policy)
			w.eventually("the owners are gone, and what is left has no owner", func() error { return w.ownerless(c.left, len(before)) })
			after := w.owned()

			// The leaf hubs still report for a while.
			for _, table := range []string{"placementdecisions", "subscription_statuses", "subscription_reports"} {
				w.exec("UPDATE status." + table + " SET payload = payload || '{\"later\": 1}' WHERE leaf_hub_name = 'hub1'")
			}
			w.beat("hub1", time.Hour)
			w.comply(ids["policy"], "hub1", "later", "unknown")
			w.keys = w.keys[:2] // the policy and the rule
			w.converge()
			now := w.owned()
			if len(now) != len(after) {
				t.Fatalf("%d objects after the rows changed, %d before", len(now), len(after))
			}
			for i := range now {
				if now[i].GetResourceVersion() != after[i].GetResourceVersion() {
					t.Errorf("%s %s has no owner and was written", now[i].GetKind(), now[i].GetName())
				}
			}
		})
	}
}

// TestOwnerDeleting: as long as something holds up the deletion of a Placement or
// Subscription, what goes of its objects does not come back.
func TestOwnerDeleting(t *testing.T) {
	w := newWorld(t)
	ids := w.oneOfEach()
	w.sync()
	w.converge()
	hold := func(finalizers ...string) {
		w.eachOwner(func(owner *unstructured.Unstructured) {
			owner.SetFinalizers(finalizers)
			w.must(w.client.Update(context.WithoutCancel(t.Context()), owner))
		})
	}
	hold("example.com/hold")
	w.Cleanup(func() { hold() })
	w.deleteOwners(metav1.DeletePropagationBackground)
	for _, object := range w.owned() {
		w.must(w.client.Delete(t.Context(), &object))
	}
	w.beat("hub1", time.Hour)
	w.comply(ids["policy"], "hub1", "later", "unknown")
	w.keys = w.keys[:2] // the policy and the rule
	w.converge()
	// Long enough for an object to come back.
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if all := w.owned(); len(all) > 0 {
			t.Fatalf("%s %s came back", all[0].GetKind(), all[0].GetName())
		}
	}
}

// eachOwner hands over each owner as it is now.
func (w *world) eachOwner(do func(*unstructured.Unstructured)) {
	w.Helper()
	for name, gvk := range owners {
		owner := &unstructured.Unstructured{}
		owner.SetGroupVersionKind(gvk)
		w.must(w.client.Get(context.WithoutCancel(w.Context()), client.ObjectKey{Namespace: w.namespace, Name: name}, owner))
		do(owner)
	}
}

func (w *world) deleteOwners(policy metav1.DeletionPropagation) {
	w.Helper()
	w.eachOwner(func(owner *unstructured.Unstructured) {
		w.must(w.client.Delete(w.Context(), owner, client.PropagationPolicy(policy)))
	})
}

// ownerless reports by its error whether the owners are gone and, if left, whether
// as many objects as count remain; otherwise none.
func (w *world) ownerless(left bool, count int) error {
	for name, gvk := range owners {
		if _, err := w.get(gvk, w.namespace, name); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("%s is there: %w", name, err)
		}
	}
	all := w.owned()
	if !left {
		count = 0
	}
	if len(all) != count {
		return fmt.Errorf("%d objects are left, not %d", len(all), count)
	}
	for _, object := range all {
		if len(object.GetOwnerReferences()) > 0 {
			return fmt.Errorf("%s %s has an owner", object.GetKind(), object.GetName())
		}
	}
	return nil
}

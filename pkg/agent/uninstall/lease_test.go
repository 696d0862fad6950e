package uninstall

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
)

func (c *cluster) putLease(name string) {
	c.api.Put("leases", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
}

// TestHookDropsTheLeaseLast: as long as a copy is left the lease is not touched,
// and the hook has not done its work before the lease is gone.
func TestHookDropsTheLeaseLast(t *testing.T) {
	c := newCluster(t)
	c.putCopy("a", "example.com/hold")
	c.putLease("helloworld")
	var refuse atomic.Bool
	refuse.Store(true)
	c.api.Before = func(r fakeapi.Request) *apierrors.StatusError {
		if refuse.Load() && r.Verb == "delete" && r.Resource == "leases" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "helloworld", errors.New("no"))
		}
		return nil
	}
	c.start(t.Context())
	c.until("said what holds a copy", func() bool { return len(c.said) > 0 })
	<-c.said
	if deletes := c.deletes("leases"); deletes > 0 {
		t.Error("the lease was to be deleted before the last copy was gone")
	}
	cm := c.api.Get("configmaps", namespace, "a").(*corev1.ConfigMap)
	cm.Finalizers = nil
	c.api.Put("configmaps", cm)
	c.api.Remove("configmaps", namespace, "a")
	c.until("said what keeps the lease", func() bool { return len(c.said) > 0 })
	if said := <-c.said; !strings.Contains(said, "delete Lease helloworld: ") {
		t.Errorf("it says %q", said)
	}
	if len(c.ended) > 0 {
		t.Fatal("it ended with the lease there")
	}
	refuse.Store(false)
	c.untilEnded()
	if c.api.Get("leases", namespace, "helloworld") != nil {
		t.Error("the lease is left behind")
	}
}

func (c *cluster) deletes(resource string) (n int) {
	for _, r := range c.api.Requests() {
		if r.Verb == "delete" && r.Resource == resource {
			n++
		}
	}
	return n
}

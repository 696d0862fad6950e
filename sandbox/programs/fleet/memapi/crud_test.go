package memapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: data}
}

func TestCreateGetUpdateDelete(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		created, err := maps.Create(ctx, configMap("a", map[string]string{"k": "1"}), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() {
			t.Errorf("the created object has no UID, version or time: %+v", created.ObjectMeta)
		}
		if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("second create: %v, want already exists", err)
		}
		changed := created.DeepCopy()
		changed.Data["k"] = "2"
		updated, err := maps.Update(ctx, changed, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if updated.UID != created.UID || updated.ResourceVersion == created.ResourceVersion {
			t.Errorf("update: UID %s, version %s, want UID %s and another version than %s",
				updated.UID, updated.ResourceVersion, created.UID, created.ResourceVersion)
		}
		same, err := maps.Update(ctx, updated, metav1.UpdateOptions{})
		if err != nil || same.ResourceVersion != updated.ResourceVersion {
			t.Errorf("an update without a change: version %s, %v, want %s", same.ResourceVersion, err, updated.ResourceVersion)
		}
		if _, err := maps.Update(ctx, created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("update of an old version: %v, want a conflict", err)
		}
		other := types.UID("other")
		if err := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}); !apierrors.IsConflict(err) {
			t.Errorf("delete of another UID: %v, want a conflict", err)
		}
		if err := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID}}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get of a deleted object: %v, want not found", err)
		}
	})
}

func TestListAndWatch(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		list, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"k":"1"}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want := "ADDED a, MODIFIED a, DELETED a"
		if got := nextEvents(w, 3); got != want {
			t.Errorf("events: %s, want %s", got, want)
		}
	})
}

// eventTimeout is how long a test waits for an event.
const eventTimeout = 10 * time.Second

// nextEvents returns the next n events of a watch as text.
func nextEvents(w watch.Interface, n int) string {
	var got []string
	for len(got) < n {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return strings.Join(append(got, "the end"), ", ")
			}
			text := fmt.Sprintf("%s %T", e.Type, e.Object)
			if obj, ok := e.Object.(metav1.Object); ok {
				text = fmt.Sprintf("%s %s", e.Type, obj.GetName())
			}
			got = append(got, strings.TrimSpace(text))
		case <-time.After(eventTimeout):
			return strings.Join(append(got, "nothing"), ", ")
		}
	}
	return strings.Join(got, ", ")
}

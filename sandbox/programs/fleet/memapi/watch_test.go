package memapi

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

func TestWatchSelected(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		w, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "color=red"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for name, color := range map[string]string{"a": "red", "b": "blue"} {
			m := configMap(name, nil)
			m.Labels = map[string]string{"color": color}
			if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, change := range []struct{ name, color string }{{"a", "blue"}, {"b", "red"}} {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"color":%q}}}`, change.color)
			if _, err := maps.Patch(ctx, change.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := nextEvents(w, 3), "ADDED a, DELETED a, ADDED b"; got != want {
			t.Errorf("events: %s, want %s: an object that the selector ceases to match is deleted", got, want)
		}
	})
}

func TestWatchBegins(t *testing.T) {
	yes, no := true, false
	rows := []struct {
		name string
		o    metav1.ListOptions
		want []string // before and behind the creation of b
	}{
		{"without a version: with what exists", metav1.ListOptions{}, []string{"ADDED a", "ADDED b"}},
		{"at version 0: with what exists", metav1.ListOptions{ResourceVersion: "0"}, []string{"ADDED a", "ADDED b"}},
		{"as a streaming list: a bookmark ends what exists",
			metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			[]string{"ADDED a, BOOKMARK", "ADDED b"}},
		{"without initial events: with what comes",
			metav1.ListOptions{SendInitialEvents: &no, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			[]string{"", "ADDED b"}},
	}
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		maps := c.kube.CoreV1().ConfigMaps("default")
		if err := maps.Delete(ctx, "kube-root-ca.crt", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			w, err := maps.Watch(ctx, row.o)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, letter := range row.want[0] {
				if letter == ',' {
					n++
				}
			}
			if row.want[0] != "" {
				n++
			}
			if got := nextEvents(w, n); got != row.want[0] {
				t.Errorf("%s: first %q, want %q", row.name, got, row.want[0])
			}
			if _, err := maps.Create(ctx, configMap("b", nil), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := nextEvents(w, 1); got != row.want[1] {
				t.Errorf("%s: then %q, want %q", row.name, got, row.want[1])
			}
			w.Stop()
			if err := maps.Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestWatchFromVersion(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		m, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range historyEvents {
			if _, err := maps.Patch(ctx, "a", types.MergePatchType, fmt.Appendf(nil, `{"data":{"i":"%d"}}`, i), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		last, err := maps.Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		before, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		now, err := strconv.ParseUint(last.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			name    string
			version uint64
			want    string
		}{
			{"the oldest version in memory", before, "MODIFIED a"},
			{"a version before: expired", before - 1, "expired"},
			{"the last version but one", now - 1, "MODIFIED a"},
			{"a version that is not there yet, for example of the cluster's predecessor: expired", now + 1000, "expired"},
		} {
			w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatUint(row.version, 10)})
			if err != nil {
				t.Fatal(err)
			}
			if got := firstEvent(w); got != row.want {
				t.Errorf("watch from %s: %s, want %s", row.name, got, row.want)
			}
			w.Stop()
		}
	})
}

func firstEvent(w watch.Interface) string {
	select {
	case e := <-w.ResultChan():
		switch obj := e.Object.(type) {
		case *metav1.Status:
			if apierrors.IsResourceExpired(apierrors.FromObject(obj)) {
				return "expired"
			}
			return obj.Message
		case *corev1.ConfigMap:
			return fmt.Sprintf("%s %s", e.Type, obj.Name)
		}
		return fmt.Sprintf("%s %T", e.Type, e.Object)
	case <-time.After(eventTimeout):
		return "nothing"
	}
}

// TestAddedAgain watches a cluster from a version of its predecessor.
func TestAddedAgain(t *testing.T) {
	s, version := NewServer(Options{}), ""
	for range 2 {
		c := &cluster{config: s.Add(t.Context(), "fleet-0001").Config()}
		c.connect(t)
		if version != "" {
			w, err := c.kube.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			if got := firstEvent(w); got != "expired" {
				t.Errorf("watch from a version of the predecessor: %s, want expired", got)
			}
		}
		list, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version = list.ResourceVersion
	}
}

// asyncClock is a fake clock whose timers call in goroutines of their own, as real ones.
type asyncClock struct{ *testclock.FakeClock }

func (c asyncClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.FakeClock.AfterFunc(d, func() { go f() })
}

func TestHistoryIsBoundedInTime(t *testing.T) {
	fake := asyncClock{testclock.NewFakeClock(time.Unix(1_700_000_000, 0))}
	clusters(t, Options{Clock: fake}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		old, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"b", "c"} {
			fake.Step(historyTime + time.Second)
			if _, err := maps.Create(ctx, configMap(name, nil), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: old.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		if got := firstEvent(w); got != "expired" {
			t.Errorf("watch from before %s: %s, want expired", historyTime, got)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, maps := t.Context(), c.kube.CoreV1().ConfigMaps("default")
		list, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		second := int64(1)
		w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: &second})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := nextEvents(w, 2), "BOOKMARK, the end"; got != want {
			t.Errorf("when its time is over: %s, want %s", got, want)
		}
		w, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		c.server.Remove("fleet-0001")
		if got, want := nextEvents(w, 1), "the end"; got != want {
			t.Errorf("when the cluster is removed: %s, want %s", got, want)
		}
		if _, err := maps.List(ctx, metav1.ListOptions{}); err == nil {
			t.Error("a removed cluster answers")
		}
	})
}

func TestInformer(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(c.kube, 0)
		defer factory.Shutdown()
		defer cancel()
		informer := factory.Core().V1().ConfigMaps()
		synced := informer.Informer().HasSynced
		factory.Start(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), synced) {
			t.Fatal("the cache did not sync")
		}
		if _, err := c.kube.CoreV1().ConfigMaps("default").Create(ctx, configMap("a", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(context.Context) error {
			_, err := informer.Lister().ConfigMaps("default").Get("a")
			return err
		})
	})
}

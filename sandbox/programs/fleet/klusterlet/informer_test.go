package klusterlet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// fakeSecrets has one Secret, and records the options of the requests.
type fakeSecrets struct {
	watch *watch.FakeWatcher

	mu      sync.Mutex
	options []metav1.ListOptions
}

func (f *fakeSecrets) record(o metav1.ListOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options = append(f.options, o)
}

func (f *fakeSecrets) List(_ context.Context, o metav1.ListOptions) (*corev1.SecretList, error) {
	f.record(o)
	return &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Secret{*secret("listed", "1")}}, nil
}

func (f *fakeSecrets) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	f.record(o)
	return f.watch, nil
}

func secret(name, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

// recorder records the events of a handler.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (e *recorder) add(kind string, object any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, kind+" "+object.(*corev1.Secret).Name)
}

func (e *recorder) OnAdd(object any, _ bool) { e.add("add", object) }
func (e *recorder) OnUpdate(_, object any)   { e.add("update", object) }
func (e *recorder) OnDelete(object any)      { e.add("delete", object) }
func (e *recorder) have(want ...string) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return slices.Equal(e.seen, want), nil
	}
}

func TestInformer(t *testing.T) {
	from := &fakeSecrets{watch: watch.NewFake()}
	i := newInformer(from, metav1.ListOptions{LabelSelector: "a=b"}, &corev1.Secret{}, time.Hour, corelisters.NewSecretLister)
	first, second := &recorder{}, &recorder{}
	for _, handler := range []cache.ResourceEventHandler{first, second} {
		if _, err := i.Informer().AddEventHandler(handler); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Informer().AddIndexers(cache.Indexers{"name": func(o any) ([]string, error) {
		return []string{o.(*corev1.Secret).Name}, nil
	}}); err != nil {
		t.Fatal(err)
	}
	if i.HasSynced() {
		t.Error("synced before the start")
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.RunWithContext(ctx)
	}()
	if !cache.WaitForCacheSync(t.Context().Done(), i.Informer().HasSynced) {
		t.Fatal("not synced")
	}
	from.watch.Add(secret("added", "2"))
	from.watch.Modify(secret("added", "3"))
	from.watch.Delete(secret("listed", "4"))
	want := []string{"add listed", "add added", "update added", "delete listed"}
	for _, handler := range []*recorder{first, second} {
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, handler.have(want...)); err != nil {
			t.Errorf("events %q, want %q", handler.seen, want)
		}
	}

	got, err := i.Lister().Secrets("ns").Get("added")
	if err != nil || got.ResourceVersion != "3" {
		t.Errorf("lister: %v, error %v, want version 3", got, err)
	}
	if indexed, err := i.Informer().GetIndexer().ByIndex("name", "added"); len(indexed) != 1 || err != nil {
		t.Errorf("index: %v, error %v", indexed, err)
	}
	late := &recorder{}
	if _, err := i.Informer().AddEventHandler(late); err != nil {
		t.Errorf("handler after the start: error %v", err)
	}
	if !slices.Equal(late.seen, []string{"add added"}) {
		t.Errorf("events of a handler after the start: %q, want those of the cache", late.seen)
	}
	if err := i.Informer().AddIndexers(cache.Indexers{}); !errors.Is(err, errStarted) {
		t.Errorf("indexers after the start: error %v, want %v", err, errStarted)
	}
	cancel()
	<-ended
	for _, o := range from.options {
		if o.LabelSelector != "a=b" {
			t.Errorf("request with the label selector %q", o.LabelSelector)
		}
	}
}

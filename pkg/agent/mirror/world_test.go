package mirror

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

var scope = plan.Scope{HubNamespace: configmaps.HubNamespace, InstallNamespace: configmaps.InstallNamespace}

// start is when fake clocks start.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The fixtures of package configmaps.
var (
	label     = configmaps.Label
	owned     = configmaps.Owned
	adopt     = configmaps.Adoptable
	immutable = configmaps.Immutable
)

// world is a hub and a managed cluster, and a mirror between them that is not
// started yet.
type world struct {
	t            *testing.T
	hub, managed *fakeapi.Server
	scope        plan.Scope
	controller   *Controller
	// closed is the error that the gate returns, nil for an open gate.
	closed  atomic.Pointer[error]
	watcher watcher
	// looks counts the names that were worked on.
	looks atomic.Int32
	clock clock.WithTicker
	// hold is how long deletions are held; zero switches that off.
	hold     time.Duration
	released atomic.Bool
}

// watcher is an Observer that counts.
type watcher struct {
	mu       sync.Mutex
	results  map[string]int
	failures []plan.Failure
	latency  []time.Duration
}

func (w *watcher) Wrote(kind plan.Kind, result Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.results == nil {
		w.results = map[string]int{}
	}
	w.results[string(kind)+" "+string(result)]++
}

func (w *watcher) Synced(latency time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latency = append(w.latency, latency)
}

// unmeasured counts the writes without a latency.
func (w *watcher) unmeasured() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, latency := range w.latency {
		if latency == 0 {
			count++
		}
	}
	return count
}

func (w *watcher) NotInSync(failure plan.Failure, _ types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, failure)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, hub: runtest.NewAPI(t), managed: runtest.NewAPI(t), scope: scope, clock: clock.RealClock{}}
}

// start runs a mirror until stop is called or the test ends.
func (w *world) start() (stop func()) {
	w.t.Helper()
	hub, err := kubeclient.New(w.hub.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	managed, err := kubeclient.New(w.managed.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	copies := managed.ConfigMaps(w.scope.InstallNamespace)
	w.controller = New(Config{Scope: w.scope, Hub: hub.ConfigMaps(w.scope.HubNamespace),
		Copies: copies, Writer: copies, Clock: w.clock,
		DeletionHold: w.hold, Released: w.released.Load,
		Gate: w.gate, Observer: &w.watcher, Looked: func() { w.looks.Add(1) }})
	return runtest.Start(w.t, w.controller.Run)
}

func (w *world) gate(*plan.Copy) error {
	if err := w.closed.Load(); err != nil {
		return *err
	}
	return nil
}

func (w *world) source(name, value string, changes ...func(*corev1.ConfigMap)) {
	cm := configmaps.New(name, map[string]string{"k": value}, changes...)
	cm.Namespace = w.scope.HubNamespace
	w.hub.Put("configmaps", cm)
}

func (w *world) target(name, value string, changes ...func(*corev1.ConfigMap)) {
	cm := configmaps.New(name, map[string]string{"k": value}, changes...)
	cm.Namespace = w.scope.InstallNamespace
	w.managed.Put("configmaps", cm)
}

func (w *world) get(name string) *corev1.ConfigMap {
	cm, _ := w.managed.Get("configmaps", w.scope.InstallNamespace, name).(*corev1.ConfigMap)
	return cm
}

// value is the copy's data, or "-" where there is no copy.
func (w *world) value(name string) string {
	if cm := w.get(name); cm != nil {
		return cm.Data["k"]
	}
	return "-"
}

// failed returns the failures, without the cost of a whole Summary.
func (w *world) failed() []plan.Failure {
	var troubles plan.Summary
	w.controller.locked(func() { troubles = w.controller.book.Troubles() })
	return troubles.Failed
}

func (w *world) eventually(what string, condition func() bool) {
	w.t.Helper()
	runtest.Eventually(w.t, what, condition, func() string {
		return fmt.Sprintf("failures %v, ready %v", w.failed(), w.controller.Ready())
	})
}

func (w *world) eventuallyValue(name, value string) {
	w.t.Helper()
	w.eventually(name+" is "+value, func() bool { return w.value(name) == value })
}

// settled creates one more source and waits for its copy: the mirror has seen every
// earlier change by then.
func (w *world) settled(marker string) {
	w.t.Helper()
	w.source(marker, "here")
	w.eventuallyValue(marker, "here")
}

func writes(requests []fakeapi.Request) []string {
	var list []string
	for _, r := range requests {
		if r.Verb == "create" || r.Verb == "update" || r.Verb == "delete" {
			list = append(list, r.String())
		}
	}
	return list
}

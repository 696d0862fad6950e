package mirror

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/internal/testing/configmaps"
	"open-cluster-management.io/helloworld-addon/internal/testing/fakeapi"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// The number of interruptions in make test, and with LONG_TESTS set.
const (
	interruptions     = 240
	longInterruptions = 5000
)

// fault is a disturbance at one of the writes.
type fault string

const (
	// refused: this write and the next two fail.
	refused fault = "refused"
	// crashBefore: the agent ends before the write is carried out.
	crashBefore fault = "crash before"
	// crashAfter: the write is carried out, and the agent ends before it knows.
	crashAfter fault = "crash after"
	// lost: the write is carried out, and the answer says that it failed.
	lost fault = "answer lost"
	// staleLists: the agent ends, and starts with lists from before its writes.
	staleLists fault = "stale lists"
	// missed: the watches end, and the events up to then cannot be watched again.
	missed fault = "missed events"
	// raced: another writer changes the object just before the write.
	raced fault = "raced"
)

var faults = []fault{refused, crashBefore, crashAfter, lost, staleLists, missed, raced}

// TestInterrupted starts from random states, lets one fault happen at a random write,
// and checks that the end is that of an undisturbed run.
func TestInterrupted(t *testing.T) {
	count := interruptions
	if os.Getenv("LONG_TESTS") != "" {
		count = longInterruptions
	}
	var group sync.WaitGroup
	var struck atomic.Int64
	cases := make(chan int)
	for range 8 {
		group.Go(func() {
			for seed := range cases {
				if interrupt(t, seed) {
					struck.Add(1)
				}
			}
		})
	}
	for seed := range count {
		cases <- seed
	}
	close(cases)
	group.Wait()
	t.Logf("%d interruptions, %d of which came at a write", count, struck.Load())
	if int(struck.Load()) < count*9/10 {
		t.Errorf("only %d of %d runs were interrupted: the test is not worth much", struck.Load(), count)
	}
}

// interrupt runs one case and reports whether the fault happened.
func interrupt(t *testing.T, seed int) bool {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	hub, managed, writes := interruptible(random)
	c := &interruption{t: t, what: faults[seed%len(faults)], at: int64(random.IntN(writes)), world: newWorld(t)}
	defer c.world.hub.Close()
	defer c.world.managed.Close()
	c.name = fmt.Sprintf("seed %d: %s at write %d", seed, c.what, c.at)
	for _, cm := range hub {
		cm.Namespace = scope.HubNamespace
		c.world.hub.Put("configmaps", cm)
	}
	for _, cm := range managed {
		cm.Namespace = scope.InstallNamespace
		c.world.managed.Put("configmaps", cm)
	}
	before := c.state(c.world.managed, scope.InstallNamespace)
	hub = c.state(c.world.hub, scope.HubNamespace)
	c.run()
	c.check(hub, before)
	return c.struck.Load()
}

// interruptible returns two random sides that take at least two writes, and counts the
// writes.
func interruptible(random *rand.Rand) (hub, managed map[string]*corev1.ConfigMap, writes int) {
	for writes < 2 {
		state := make([]byte, 2*len(configmaps.Names))
		for i := range state {
			// Not one that is being deleted: this test removes no finalizers.
			state[i] = byte(random.UintN(256)) &^ (64 * byte(i%2))
		}
		hub, managed = configmaps.FromBytes(state)
		writes = 0
		for _, action := range planAll(hub, managed) {
			if action.Kind == plan.Replace {
				writes++
			}
			if action.Kind.Writes() {
				writes++
			}
		}
	}
	return hub, managed, writes
}

type interruption struct {
	t      *testing.T
	name   string
	what   fault
	at     int64
	world  *world
	writes atomic.Int64
	struck atomic.Bool
	// down reports whether the agent is dead: requests that it still sends fail.
	down atomic.Bool
}

// run runs a mirror, lets the fault happen, and runs it again where it died.
func (c *interruption) run() {
	c.world.managed.Before, c.world.managed.After = c.before, c.after
	if c.what == staleLists {
		c.world.hub.Stale()
		c.world.managed.Stale()
	}
	stop := c.world.start()
	died := func() bool { return c.down.Load() || c.settled() }
	c.wait("died or settled", died)
	if c.down.Load() {
		stop()
		c.world.watcher = watcher{}
		c.down.Store(false)
		stop = c.world.start()
	}
	defer stop()
	c.wait("settled", c.settled)
	// Still so after it was looked at once more.
	c.world.controller.Resync()
	c.wait("settled again", func() bool { return c.world.controller.queue.Len() == 0 && c.settled() })
}

func (c *interruption) before(r fakeapi.Request) *apierrors.StatusError {
	if r.Verb != "create" && r.Verb != "update" && r.Verb != "delete" {
		return nil
	}
	n := c.writes.Add(1) - 1
	if c.down.Load() {
		return unavailable()
	}
	strikes := n == c.at
	if strikes {
		c.struck.Store(true)
	}
	switch c.what {
	case refused:
		if n >= c.at && n < c.at+3 {
			return unavailable()
		}
	case crashBefore, staleLists:
		if strikes {
			c.down.Store(true)
			return unavailable()
		}
	case missed:
		if strikes {
			for _, s := range []*fakeapi.Server{c.world.hub, c.world.managed} {
				s.EndWatches()
				s.Forget()
			}
		}
	case raced:
		if cm, ok := c.world.managed.Get(r.Resource, r.Namespace, r.Name).(*corev1.ConfigMap); strikes && ok {
			metav1.SetMetaDataLabel(&cm.ObjectMeta, "raced", "yes")
			c.world.managed.Put(r.Resource, cm)
		}
	}
	return nil
}

func (c *interruption) after(r fakeapi.Request) *apierrors.StatusError {
	if (r.Verb == "create" || r.Verb == "update" || r.Verb == "delete") && c.writes.Load()-1 == c.at {
		switch c.what {
		case crashAfter:
			c.down.Store(true)
			return unavailable()
		case lost:
			return unavailable()
		}
	}
	return nil
}

func unavailable() *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "interrupted"}}
}

func (c *interruption) state(server *fakeapi.Server, namespace string) map[string]*corev1.ConfigMap {
	state := map[string]*corev1.ConfigMap{}
	for _, name := range configmaps.Names {
		if cm, ok := server.Get("configmaps", namespace, name).(*corev1.ConfigMap); ok {
			state[name] = cm
		}
	}
	return state
}

// planAll plans every name.
func planAll(hub, managed map[string]*corev1.ConfigMap) []plan.Action {
	var actions []plan.Action
	for _, name := range configmaps.Names {
		var source *plan.Source
		var target *plan.Copy
		if cm := hub[name]; cm != nil {
			source = plan.NewSource(cm)
		}
		if cm := managed[name]; cm != nil {
			target = scope.NewCopy(cm)
		}
		actions = append(actions, scope.Plan(name, source, target))
	}
	return actions
}

// settled reports whether there is nothing to do.
func (c *interruption) settled() bool {
	for _, action := range planAll(c.state(c.world.hub, scope.HubNamespace), c.state(c.world.managed, scope.InstallNamespace)) {
		if action.Kind.Writes() {
			return false
		}
	}
	return true
}

func (c *interruption) check(hub, before map[string]*corev1.ConfigMap) {
	after := c.state(c.world.managed, scope.InstallNamespace)
	for name, cm := range before {
		if configmaps.MayWrite(cm) {
			continue
		}
		if c.what == raced && after[name] != nil {
			after[name].Labels, after[name].ResourceVersion = cm.Labels, cm.ResourceVersion
		}
		if diff := cmp.Diff(cm, after[name]); diff != "" {
			c.t.Errorf("%s: wrote what is not ours (-before +after):\n%s", c.name, diff)
		}
	}
	for name, cm := range hub {
		configmaps.Check(c.t, cm, before[name], after[name])
	}
	for name, cm := range before {
		if hub[name] == nil && after[name] != nil && !configmaps.Excluded(name) && configmaps.IsOwned(cm) {
			c.t.Errorf("%s: the copy %s is still there without its source", c.name, name)
		}
	}
}

func (c *interruption) wait(what string, condition func() bool) {
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			c.t.Errorf("%s: not %s within 30 s; failures %v", c.name, what, c.world.failed())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

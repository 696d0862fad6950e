package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	testclock "k8s.io/utils/clock/testing"
)

const image = "registry.example.com/app"

func workload(kind, cluster, uid string) event {
	return event{
		Type: started, Cluster: cluster, Kind: kind, Namespace: "agents", Name: "app", UID: "w-" + types.UID(uid), Pod: "app-" + uid, PodUID: types.UID(uid),
		Container: corev1.Container{Name: "app", Image: image + ":v1", Args: []string{"--pod=app-" + uid}},
	}
}

func ended(e event) event { e.Type = stopped; return e }

// calls records the calls of a Func, which ends when the test sends a result.
type calls struct {
	begun, over chan Cluster
	result      chan error
}

func newCalls() *calls {
	return &calls{begun: make(chan Cluster, 10), over: make(chan Cluster, 10), result: make(chan error)}
}

func (c *calls) run(ctx context.Context, cluster Cluster) error {
	c.begun <- cluster
	defer func() { c.over <- cluster }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-c.result:
		return err
	}
}

// next returns the next value, for which it waits.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing within 30 s", what)
		panic("not reached")
	}
}

// none checks that nothing comes. It cannot miss what the test has waited for before.
func none[T any](t *testing.T, what string, from <-chan T) {
	t.Helper()
	select {
	case value := <-from:
		t.Errorf("%s: %v", what, value)
	case <-time.After(100 * time.Millisecond):
	}
}

// serve runs a server of a fake fleet until the test ends.
func serve(t *testing.T, f *fake, agents ...Agents) *testclock.FakeClock {
	t.Helper()
	s, err := newServer(f.file, filepath.Join(t.TempDir(), "kubeconfigs"), agents)
	if err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	s.clock = clock
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := next(t, "serve ends", done); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return clock
}

// advance waits for a sleeper and moves the clock.
func advance(t *testing.T, clock *testclock.FakeClock, by time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !clock.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing waits for %s", by)
		}
	}
	clock.Step(by)
}

func TestTheFunctionGetsItsCluster(t *testing.T) {
	f, agent := newFake(t), newCalls()
	serve(t, f, Agents{Image: image, Agent: agent.run})
	stream := next(t, "a stream", f.streams)
	if diff := cmp.Diff([]string{image}, stream.images); diff != "" {
		t.Error(diff)
	}
	stream.send(workload(deployment, "fleet-0001", "1"))
	got := next(t, "a call", agent.begun)

	config, err := clientcmd.BuildConfigFromFlags("", got.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"Managed": got.Managed, "Kubeconfig": config} {
		if content, err := get(config); err != nil || content != "/clusters/fleet-0001/version" {
			t.Errorf("%s: the request arrives as %q, %v", name, content, err)
		}
	}
	if info, err := os.Stat(got.Kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: want a kubeconfig that only its owner can read", info.Mode(), err)
	}
	got.Managed, got.Kubeconfig = nil, ""
	if diff := cmp.Diff(Cluster{
		Name: "fleet-0001", Namespace: "agents", Container: corev1.Container{Name: "app", Image: image + ":v1", Args: []string{"--pod=app-1"}},
		Pod: types.NamespacedName{Namespace: "agents", Name: "app-1"}, PodUID: "1",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloadsStartAndStop(t *testing.T) {
	f, agent := newFake(t), newCalls()
	serve(t, f, Agents{Image: "other", Job: agent.run}, Agents{Image: image, Agent: agent.run})
	stream := next(t, "a stream", f.streams)
	one, two := workload(deployment, "fleet-0001", "1"), workload(deployment, "fleet-0002", "1") // UIDs of two clusters may be equal
	other := workload(deployment, "fleet-0003", "1")
	other.Container.Image = "other:v1" // its Agents have no function for Deployments
	stream.send(other, one, one, two, event{Type: synced})
	names := []string{next(t, "a call", agent.begun).Name, next(t, "a call", agent.begun).Name}
	if names[0] == names[1] || names[0] == "fleet-0003" || names[1] == "fleet-0003" {
		t.Errorf("called for %v", names)
	}
	stream.send(ended(one))
	if name := next(t, "an end", agent.over).Name; name != "fleet-0001" {
		t.Errorf("the agent of %s ended", name)
	}
	none(t, "called again", agent.begun)
	none(t, "ended too", agent.over)
}

// TestANewStream checks that pods that run keep running, and that those end that the new stream does
// not name before it is complete.
func TestANewStream(t *testing.T) {
	f, agent := newFake(t), newCalls()
	clock := serve(t, f, Agents{Image: image, Agent: agent.run})
	stream := next(t, "a stream", f.streams)
	kept, gone := workload(deployment, "fleet-0001", "1"), workload(deployment, "fleet-0002", "2")
	stream.send(kept, gone)
	next(t, "a call", agent.begun)
	next(t, "a call", agent.begun)
	stream.close()
	advance(t, clock, retry)
	stream = next(t, "a new stream", f.streams)
	stream.send(kept)
	none(t, "ended before the stream was complete", agent.over)
	stream.send(event{Type: synced})
	if name := next(t, "an end", agent.over).Name; name != "fleet-0002" {
		t.Errorf("the agent of %s ended", name)
	}
	none(t, "called again", agent.begun)
}

func TestBackOff(t *testing.T) {
	f, agent := newFake(t), newCalls()
	clock := serve(t, f, Agents{Image: image, Agent: agent.run})
	next(t, "a stream", f.streams).send(workload(deployment, "fleet-0001", "1"))
	first := next(t, "a call", agent.begun)
	fail := func(err error) {
		agent.result <- err
		next(t, "an end", agent.over)
	}
	fail(errors.New("broken"))
	for _, wait := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		if wait > 0 {
			advance(t, clock, wait-time.Millisecond)
			none(t, fmt.Sprintf("called before %s", wait), agent.begun)
			advance(t, clock, time.Millisecond)
		}
		if again := next(t, fmt.Sprintf("a call after %s", wait), agent.begun); again.PodUID != first.PodUID {
			t.Errorf("the pod has changed from %s to %s", first.PodUID, again.PodUID)
		}
		fail(nil) // an end without an error is one too
	}
	advance(t, clock, 5*time.Minute)
	next(t, "a call", agent.begun)
	clock.Step(10 * time.Minute)
	fail(errors.New("after a long run"))
	next(t, "a call at once after a long run", agent.begun)
}

func TestJobs(t *testing.T) {
	f, work := newFake(t), newCalls()
	clock := serve(t, f, Agents{Image: image, Job: work.run}, Agents{Image: "other"})
	stream := next(t, "a stream", f.streams)
	failing := workload(job, "fleet-0001", "1")
	stream.send(failing)
	next(t, "a call", work.begun)
	f.refuse(1) // a report that fails is repeated
	work.result <- errors.New("not yet")
	for range 2 {
		if got, want := next(t, "a report", f.results), "/fleet/workloads/fleet-0001/1/done: not yet"; got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
		if f.refused.Load() == 0 {
			advance(t, clock, retry)
		}
	}
	none(t, "the function of a pod that has failed is called again", work.begun)

	stream.send(ended(failing), workload(job, "fleet-0001", "2")) // the Job's next pod
	next(t, "a call", work.begun)
	work.result <- nil
	if got, want := next(t, "a report", f.results), "/fleet/workloads/fleet-0001/2/done: "; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}

	stream.send(workload(job, "fleet-0001", gone))
	next(t, "a call", work.begun)
	work.result <- nil
	next(t, "a report", f.results)
	none(t, "the result of a pod that is gone is reported again", f.results)
	if clock.HasWaiters() {
		t.Error("the result of a pod that is gone will be reported again")
	}

	without := workload(job, "fleet-0002", "3")
	without.Container.Image = "other:v1"
	stream.send(without)
	if got, want := next(t, "a report", f.results), "/fleet/workloads/fleet-0002/3/done: "; got != want {
		t.Errorf("a Job without a function: reported %q, want %q", got, want)
	}
}

func TestServeWithoutAFleet(t *testing.T) {
	t.Setenv(Environment, "")
	if err := Serve(t.Context(), Agents{}); err == nil {
		t.Error("Serve succeeds without a file")
	}
	t.Setenv(Environment, filepath.Join(t.TempDir(), "fleet.json"))
	if err := Serve(t.Context(), Agents{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Serve = %v, want that the file does not exist", err)
	}
}

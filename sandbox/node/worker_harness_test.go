package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// fakeRuntime starts processes that end when a test says so.
type fakeRuntime struct {
	mu      sync.Mutex
	started []*fakeProcess
	err     error
	clock   *testingclock.FakeClock
	// exec is a further program in a container, to its end.
	exec func(ctx context.Context, e Exec) (plan.Exit, error)
}

func (r *fakeRuntime) Start(_ context.Context, spec Container, _ PodNetwork, stdout, _ io.Writer) (Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	p := &fakeProcess{spec: spec, exec: r.exec, exit: make(chan plan.Exit, 1)}
	r.started = append(r.started, p)
	_, err := io.WriteString(stdout, "started\n")
	return p, err
}

// Measure lets every container use half a processor and 1 MiB.
func (r *fakeRuntime) Measure(containers []Process) ([]plan.Usage, error) {
	usages := make([]plan.Usage, len(containers))
	for i := range usages {
		usages[i] = plan.Usage{CPU: r.clock.Now().Sub(noon) / 2, Memory: 1 << 20}
	}
	return usages, nil
}

func (r *fakeRuntime) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.started)
}

func (r *fakeRuntime) last() *fakeProcess {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started[len(r.started)-1]
}

// fakeProcess ignores SIGTERM and dies of SIGKILL.
type fakeProcess struct {
	spec    Container
	exit    chan plan.Exit
	exec    func(ctx context.Context, e Exec) (plan.Exit, error)
	mu      sync.Mutex
	signals []syscall.Signal
}

func (p *fakeProcess) Wait() plan.Exit { return <-p.exit }

func (p *fakeProcess) Stdin() io.WriteCloser { return nil }

func (p *fakeProcess) Resize(uint16, uint16) error { return nil }

func (p *fakeProcess) Exec(ctx context.Context, e Exec) (Execution, error) {
	exit, err := p.exec(ctx, e)
	if err != nil {
		return nil, err
	}
	return fakeExecution{exit}, nil
}

// fakeExecution has ended.
type fakeExecution struct{ exit plan.Exit }

func (e fakeExecution) Stdin() io.WriteCloser       { return nil }
func (e fakeExecution) Resize(uint16, uint16) error { return nil }
func (e fakeExecution) Wait() plan.Exit             { return e.exit }

func (p *fakeProcess) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signals = append(p.signals, s)
	if s == syscall.SIGKILL {
		p.exit <- plan.Exit{Signal: s}
	}
	return nil
}

func (p *fakeProcess) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.signals)
}

type fakeNetwork struct{ closed chan struct{} }

func (n fakeNetwork) Attach(string) (PodNetwork, error) { return n, nil }
func (n fakeNetwork) IP() netip.Addr                    { return netip.MustParseAddr("127.0.0.1") }
func (n fakeNetwork) Close() error                      { close(n.closed); return nil }
func (n fakeNetwork) Dial(context.Context, uint16) (net.Conn, error) {
	return nil, errors.New("not in this test")
}

// fakeImages counts how many runs use each image.
type fakeImages struct {
	images map[string]plan.Image
	used   map[string]*atomic.Int32
	broken map[string]error
}

func (i fakeImages) Use(name string) (plan.Image, func(), bool, error) {
	if err := i.broken[name]; err != nil {
		return plan.Image{}, nil, false, err
	}
	image, ok := i.images[name]
	if ok {
		i.used[name].Add(1)
	}
	return image, func() { i.used[name].Add(-1) }, ok, nil
}

func (i fakeImages) Known(string) ([]string, string) { return []string{"app"}, "" }

// bench is a worker under test.
type bench struct {
	t       *testing.T
	client  *fake.Clientset
	clock   *testingclock.FakeClock
	runtime *fakeRuntime
	network fakeNetwork
	events  *record.FakeRecorder
	worker  *worker
}

func newBench(t *testing.T, pod *corev1.Pod) *bench {
	t.Helper()
	b := &bench{
		t: t, client: fake.NewClientset(pod), clock: testingclock.NewFakeClock(noon),
		runtime: &fakeRuntime{}, network: fakeNetwork{make(chan struct{})}, events: record.NewFakeRecorder(100),
	}
	b.runtime.clock = b.clock
	s := &shared{
		Options: Options{
			StateDir: t.TempDir(), Images: fakeImages{
				images: map[string]plan.Image{"app": {Dir: "/image", Entrypoint: []string{"/app"}}}, used: map[string]*atomic.Int32{"app": {}, "other": {}}, broken: map[string]error{}},
			Runtime: b.runtime, Network: b.network, Address: netip.MustParseAddr("127.0.0.1"),
			APIServer: netip.MustParseAddrPort("127.0.0.1:6443"), Clock: b.clock,
			BackOff: plan.BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}, ShutdownGrace: time.Second,
		},
		client: b.client, recorder: b.events, logs: logStore{t.TempDir()},
	}
	s.store = newStore(b.client, b.clock, func(objectKey) {
		if b.worker != nil {
			b.worker.nudge()
		}
	})
	b.worker = newWorker(s, pod)
	return b
}

// run runs the worker until the test ends.
func (b *bench) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	go b.worker.run(ctx)
	b.t.Cleanup(func() {
		cancel()
		b.stepUntil("the worker ends", func() error {
			select {
			case <-b.worker.done:
				return nil
			default:
				return errors.New("it runs")
			}
		})
		b.worker.store.wait()
	})
}

// until waits for a condition, without any time going by for the worker.
func (b *bench) until(what string, condition func() error) { b.t.Helper(); b.wait(what, 0, condition) }

// stepUntil lets time go by for the worker until the condition holds.
func (b *bench) stepUntil(what string, condition func() error) {
	b.t.Helper()
	b.wait(what, 500*time.Millisecond, condition)
}

func (b *bench) wait(what string, step time.Duration, condition func() error) {
	b.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(2 * time.Millisecond)
		if step > 0 {
			b.clock.Step(step)
		}
	}
}

// container waits until the pod's only container is in a state.
func (b *bench) container(what string, state func(corev1.ContainerStatus) bool) func() error {
	return func() error {
		pod, err := b.client.CoreV1().Pods("ns").Get(b.t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) == 1 && state(pod.Status.ContainerStatuses[0]) {
			return nil
		}
		return fmt.Errorf("not %s: %+v", what, pod.Status)
	}
}

func (b *bench) isRunning() func() error {
	return b.container("running", func(s corev1.ContainerStatus) bool { return s.State.Running != nil })
}

func (b *bench) starts(n int) func() error {
	return func() error {
		if got := b.runtime.count(); got != n {
			return fmt.Errorf("%d starts, want %d", got, n)
		}
		return nil
	}
}

// told reports whether an event was recorded, and forgets all.
func (b *bench) told(text string) bool {
	found := false
	for len(b.events.Events) > 0 {
		found = strings.Contains(<-b.events.Events, text) || found
	}
	return found
}

func appPod() *corev1.Pod {
	pod := onePod()
	pod.Spec.Containers[0].Image = "app"
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](20)
	return pod
}

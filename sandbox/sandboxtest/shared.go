package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"open-cluster-management.io/helloworld-addon/sandbox/dirlock"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// shared is the sandbox of Main.
var shared struct {
	mutex sync.Mutex
	// main is true while Main runs.
	main    bool
	options []Option
	sandbox *Sandbox
	err     error
	// users are the tests that have called Shared and have not ended.
	users map[testing.TB]bool
}

// Main runs the tests of a package, for whom Shared returns one sandbox, ends that sandbox, and exits. Call
// it in TestMain. The sandbox starts with the first test that calls Shared.
//
// With the environment variable OCM_SANDBOX_USE it uses the sandbox in that directory, or starts one there
// that stays running. The options count for the start. Of a sandbox that runs already, Main checks that it
// has the clusters of the options; it gives it the images again.
func Main(m *testing.M, opts ...Option) {
	shared.mutex.Lock()
	shared.main, shared.options = true, opts
	shared.mutex.Unlock()
	code := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxtest:", err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:forbidigo // as documented, so that TestMain needs one line
}

// Shared returns the sandbox that all tests of the package share. If the test fails, the sandbox's logs and
// objects as they are then are kept, and the test's output has reports of enabled add-ons. It needs a
// TestMain that calls Main.
func Shared(t testing.TB) *Sandbox {
	t.Helper()
	s, err := startShared(t)
	if err != nil {
		t.Fatal(err)
	}
	if !addUser(t) {
		return s
	}
	t.Cleanup(func() {
		t.Helper()
		removeUser(t)
		if t.Failed() {
			s.keep(t)
		}
	})
	return s
}

// addUser reports whether the test calls Shared for the first time.
func addUser(t testing.TB) bool {
	t.Helper()
	shared.mutex.Lock()
	defer shared.mutex.Unlock()
	if shared.users[t] {
		return false
	}
	if shared.users == nil {
		shared.users = map[testing.TB]bool{}
	}
	shared.users[t] = true
	return true
}

func removeUser(t testing.TB) {
	t.Helper()
	shared.mutex.Lock()
	defer shared.mutex.Unlock()
	delete(shared.users, t)
}

func startShared(t testing.TB) (*Sandbox, error) {
	t.Helper()
	shared.mutex.Lock()
	defer shared.mutex.Unlock()
	if !shared.main {
		return nil, errors.New("no sandbox to share: add func TestMain(m *testing.M) { sandboxtest.Main(m) } to the package, or call Start")
	}
	if shared.sandbox == nil && shared.err == nil {
		o := newOptions(shared.options)
		ctx, cancel := startContext(t)
		defer cancel()
		if dir := os.Getenv("OCM_SANDBOX_USE"); dir != "" {
			shared.sandbox, shared.err = use(ctx, dir, o, t.Output())
		} else {
			shared.sandbox, shared.err = start(ctx, o, t.Output())
		}
	}
	return shared.sandbox, shared.err
}

func endShared() error {
	shared.mutex.Lock()
	defer shared.mutex.Unlock()
	s := shared.sandbox
	if s == nil {
		return nil
	}
	if s.holder == nil {
		fmt.Fprintf(os.Stderr, "sandboxtest: the sandbox in %s keeps running; end it with: %s\n", s.dir, s.commandLine("down"))
	}
	return s.end()
}

// use returns the sandbox that runs in the directory, or starts one there that stays running.
func use(ctx context.Context, dir string, o options, log io.Writer) (*Sandbox, error) {
	if err := o.validate(ctx); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("OCM_SANDBOX_USE=%s: give an absolute path, because tests run in the directories of their packages", dir)
	}
	program, err := findProgram(ctx)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{program: program, dir: filepath.Clean(dir)}
	ctx, explain := s.starting(ctx)
	if err := s.ensure(ctx, o, log); err != nil {
		return nil, explain(err)
	}
	if err := s.open(ctx, o); err != nil {
		return nil, explain(err)
	}
	return s, explain(s.check(ctx, o))
}

// ensure starts the sandbox unless it runs. Tests of other packages may do the same at the same time.
func (s *Sandbox) ensure(ctx context.Context, o options, log io.Writer) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("create the directory of OCM_SANDBOX_USE: %w", err)
	}
	unlock, err := dirlock.Lock(ctx, s.dir, nil)
	if err != nil {
		return err
	}
	defer unlock()
	if ready, err := s.awaitReady(ctx); ready || err != nil {
		return err
	}
	out, err := output(ctx, s.command("up", o.upFlags()...))
	_, _ = log.Write(out) // the log only informs
	return err
}

// readyPoll is the period of looking whether a sandbox that another process starts is ready.
const readyPoll = 200 * time.Millisecond

// awaitReady reports whether a sandbox runs in the directory. It waits while the sandbox is starting.
func (s *Sandbox) awaitReady(ctx context.Context) (bool, error) {
	for {
		record, err := statedir.Read(s.dir)
		if err != nil || !record.Running() {
			return false, nil // up tells what is wrong with the directory
		}
		if record.Ready {
			return true, nil
		}
		if err := sleep(ctx, readyPoll); err != nil {
			return false, fmt.Errorf("wait for the start of the sandbox in %s: %w", s.dir, err)
		}
	}
}

// check returns an error if the sandbox lacks clusters of the options.
func (s *Sandbox) check(ctx context.Context, o options) error {
	managed := len(s.clusters)
	if o.hubAs != "" {
		managed-- // it is among them in any case
		client, err := dynamic.NewForConfig(s.Hub().config)
		if err != nil {
			return fmt.Errorf("create a client: %w", err)
		}
		if _, err := client.Resource(managedClusters).Get(ctx, o.hubAs, metav1.GetOptions{}); err != nil {
			return s.unfit("%s: %w", o.hubAs, err)
		}
	}
	if len(s.hubs) < o.hubs || managed < o.clusters {
		return s.unfit("it has %d hubs and %d managed clusters, and the tests need %d and %d", len(s.hubs), managed, o.hubs, o.clusters)
	}
	return nil
}

func (s *Sandbox) unfit(format string, args ...any) error {
	return fmt.Errorf("OCM_SANDBOX_USE: the sandbox in %s does not fit: %w: end it with %s, and the tests start another one",
		s.dir, fmt.Errorf(format, args...), s.commandLine("down"))
}

// Package runtest holds what the tests of both programs share: a clock that advances whenever a goroutine waits for it, and
// the flags as users see them. It also hides the hub of the machine that the tests run on. It starts no program.
package runtest

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	logsapi "k8s.io/component-base/logs/api/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// Passing runs f and advances the clock by a tick whenever a goroutine waits for it. It fails the test if f has not
// returned within a minute of real time.
func Passing(t *testing.T, clock *clocktesting.FakeClock, tick time.Duration, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); f() }()
	deadline := time.Now().Add(time.Minute)
	for running := true; running; {
		if time.Now().After(deadline) {
			t.Fatal("did not end within a minute")
		}
		if clock.HasWaiters() {
			clock.Step(tick)
		}
		select {
		case <-ended:
			running = false
		case <-time.After(time.Microsecond):
		}
	}
}

// NoHub hides the machine's own kubeconfig files, and the pod that the test may run in, for the rest of the test.
func NoHub(t *testing.T) {
	t.Helper()
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	// The library reads $HOME once, when it is loaded.
	home := clientcmd.RecommendedHomeFile
	clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "config")
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = home })
}

// Flags returns the flags that are added, by name, with their defaults and texts. It omits hidden flags and Kubernetes'
// logging flags, and fails the test if the latter are missing.
func Flags(t *testing.T, add func(*pflag.FlagSet)) []string {
	t.Helper()
	logs, all := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	logsapi.AddFlags(logsapi.NewLoggingConfiguration(), logs)
	add(all)
	if all.Lookup("logging-format") == nil {
		t.Error("there are no flags of the logs")
	}
	var flags []string
	all.VisitAll(func(flag *pflag.Flag) {
		if logs.Lookup(flag.Name) == nil && !flag.Hidden {
			flags = append(flags, fmt.Sprintf("--%s=%s %s", flag.Name, flag.DefValue, flag.Usage))
		}
	})
	return flags
}

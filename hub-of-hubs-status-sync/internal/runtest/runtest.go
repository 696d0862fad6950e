// Package runtest holds what the tests of both programs share: a clock that advances whenever a goroutine waits for it, and
// the flags as users see them. It starts no program.
package runtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/spf13/pflag"
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

// Flags returns the flags that are added, by name, with their defaults and texts. It omits Kubernetes' logging flags, and
// fails the test if they are missing.
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
		if logs.Lookup(flag.Name) == nil {
			flags = append(flags, fmt.Sprintf("--%s=%s %s", flag.Name, flag.DefValue, flag.Usage))
		}
	})
	return flags
}

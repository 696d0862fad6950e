package program

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func newTestOptions() *Options {
	env := map[string]string{EnvDatabaseURL: "postgres://u:p@h/d", EnvPodNamespace: "ns", EnvWatchNamespace: " a, b,"}
	opts := NewOptions(Identity{Name: "reader", Lock: "reader-lock", Hub: "test hub", Work: "read"}, func(name string) string { return env[name] })
	opts.KubeAPIQPS, opts.KubeAPIBurst, opts.MetricsAddr = 1, 1, ":8080"
	return &opts
}

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"the environment's and the defaults", nil, ""},
		{"nothing served", []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, ""},
		{"one address only", []string{"--metrics-bind-address=127.0.0.1:80", "--health-probe-bind-address=[::1]:80"}, ""},
		{"a port alone for metrics", []string{"--metrics-bind-address=8080"},
			`--metrics-bind-address="8080" cannot be listened on: it is not host:port: give host:port, such as :8081, or 0 to disable it`},
		{"an empty address, which would be another one's default", []string{"--metrics-bind-address="},
			`--metrics-bind-address="" cannot be listened on: it is not host:port: give host:port, such as :8081, or 0 to disable it`},
		{"no such port for probes", []string{"--health-probe-bind-address=:65536"},
			`--health-probe-bind-address=":65536" cannot be listened on: "65536" is not a port from 0 to 65535: give host:port, such as :8081, or 0 to disable it`},
		{"logs as JSON", []string{"--logging-format=json"}, ""},
		{"a limit that is no number", []string{"--kube-api-qps=NaN"}, "--kube-api-qps=NaN must be above 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts, flags := newTestOptions(), pflag.NewFlagSet("test", pflag.ContinueOnError)
			opts.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := errors.Join(opts.Problems()...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLockNeedsANamespace: but not where there is no lock.
func TestLockNeedsANamespace(t *testing.T) {
	opts := newTestOptions()
	opts.PodNamespace = ""
	if err := errors.Join(opts.Problems()...); err == nil || !strings.Contains(err.Error(), "$POD_NAMESPACE is missing") {
		t.Errorf("got %v", err)
	}
	opts.LeaderElect = false
	if err := errors.Join(opts.Problems()...); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for list, want := range map[string][]string{"": nil, " , ": nil, "a": {"a"}, " a, b,": {"a", "b"}} {
		if diff := cmp.Diff(want, names(list)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}

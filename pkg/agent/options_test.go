package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options := NewOptions()
	options.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestValidateReportsEveryProblem(t *testing.T) {
	options := parse(t, "--namespace=Bad_Name", "--hub-kubeconfig=f", "--hub-kubeconfig-secret=s",
		"--health-bind-address=8081", "--metrics-bind-address=:8080", "--lease-duration=1s",
		"--kube-api-qps=0", "--kube-api-burst=0", "--deletion-hold=-1s")
	err := options.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"--cluster-name is required", `--namespace "Bad_Name": `, `--hub-kubeconfig "f": `,
		`--health-bind-address "8081": `, `--metrics-bind-address ":8080": `, `--lease-duration "1s": `,
		`--kube-api-qps "0": `, `--kube-api-burst "0": `, `--deletion-hold "-1s": `} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		valid bool
	}{
		{"only what is required", nil, true},
		{"a pod's address for health", []string{"--health-bind-address=[fd00::1]:8081"}, true},
		{"no health: many agents in one process have no ports", []string{"--health-bind-address=0"}, true},
		{"port above 65535", []string{"--health-bind-address=:65536"}, false},
		{"no metrics", []string{"--metrics-bind-address=0"}, true},
		{"metrics on another loopback address", []string{"--metrics-bind-address=127.9.9.9:80"}, true},
		{"metrics on IPv6 loopback", []string{"--metrics-bind-address=[::1]:80"}, true},
		{"metrics for everyone", []string{"--metrics-bind-address=10.0.0.1:80"}, false},
		{"metrics on a name", []string{"--metrics-bind-address=example.com:80"}, false},
		// docs/design.md#rule-8-own-namespace
		{"the cluster's own name as install namespace", []string{"--namespace=cluster1"}, false},
		{"a name that begins with the cluster's", []string{"--namespace=cluster10"}, true},
		{"a file", []string{"--hub-kubeconfig=f"}, true},
		{"another secret", []string{"--hub-kubeconfig-secret=s"}, true},
		{"no secret", []string{"--hub-kubeconfig-secret="}, false},
		{"an empty file name", []string{"--hub-kubeconfig="}, false},
		{"hosted", []string{"--hosted", "--kubeconfig=f"}, true},
		{"hosted, and no managed cluster", []string{"--hosted"}, false},
		{"the shortest lease", []string{"--lease-duration=4s"}, true},
		{"longer than OCM waits", []string{"--lease-duration=301s"}, false},
		{"deletions are not held", []string{"--deletion-hold=0"}, true},
		{"deletions are held for longer than a week", []string{"--deletion-hold=169h"}, false},
		{"not a number", []string{"--kube-api-qps=NaN"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"--cluster-name=cluster1", "--namespace=default"}, test.args...)
			if err := parse(t, args...).Validate(); (err == nil) != test.valid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	options := parse(t)
	options.flags = nil
	want := &Options{HubKubeconfigSecret: "helloworld-hub-kubeconfig", HealthBindAddress: ":8081",
		MetricsBindAddress: "localhost:8080", LeaseDuration: time.Minute, DeletionHold: 10 * time.Minute, KubeAPIQPS: 1000, KubeAPIBurst: 2000}
	if diff := cmp.Diff(want, options, cmp.AllowUnexported(Options{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package sidecar

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

var inPod = environment(map[string]string{"WATCH_NAMESPACE": "addons", "POD_NAME": "pod-1", "POD_NAMESPACE": "addons"})

func TestParse(t *testing.T) {
	defaults := Options{LeaseName: "mine", LeaseNamespace: "cluster1", LeaseLocation: OnHub, Secret: "creds",
		LeaseDuration: time.Minute, StartupDelay: 10 * time.Second, HealthAddress: ":8681", MetricsAddress: "localhost:8680",
		WatchNamespace: "addons", PodName: "pod-1", PodNamespace: "addons"}
	with := func(change func(*Options)) Options {
		o := defaults
		change(&o)
		return o
	}
	tests := []struct {
		name string
		args string
		env  func(string) string
		want Options
	}{
		{"one dash, value apart", "-lease-name mine -lease-namespace cluster1 -hub-kubeconfig-secret creds", inPod, defaults},
		{"two dashes, value joined", "--lease-name=mine --lease-namespace=cluster1 --hub-kubeconfig-secret=creds", inPod, defaults},
		{"seconds as numbers", "-lease-name=mine -lease-namespace=cluster1 -hub-kubeconfig-secret=creds -lease-duration 20 --startup-delay=0", inPod,
			with(func(o *Options) { o.LeaseDuration, o.StartupDelay = 20*time.Second, 0 })},
		{"seconds as durations", "-lease-name=mine -lease-namespace=cluster1 -hub-kubeconfig-secret=creds -lease-duration 1m30s", inPod,
			with(func(o *Options) { o.LeaseDuration = 90 * time.Second })},
		{"the longest lease", "-lease-name=mine -lease-namespace=cluster1 -hub-kubeconfig-secret=creds -lease-duration=2147483647 -startup-delay=2147483647", inPod,
			with(func(o *Options) {
				o.LeaseDuration, o.StartupDelay = math.MaxInt32*time.Second, math.MaxInt32*time.Second
			})},
		{"flags of the original", "-lease-name=mine -lease-namespace=cluster1 -hub-kubeconfig-secret=creds -metrics-host 0.0.0.0 -metrics-port=8384", inPod,
			with(func(o *Options) { o.Ignored = []string{"-metrics-host", "-metrics-port"} })},
		{"the secret as OCM names it", "-lease-name=mine -lease-namespace=cluster1", inPod,
			with(func(o *Options) { o.Secret = "mine-hub-kubeconfig" })},
		{"on the managed cluster", "-lease-name=mine -lease-location=managed", inPod,
			with(func(o *Options) { o.LeaseLocation, o.LeaseNamespace, o.Secret = OnManaged, "addons", "" })},
		{"one namespace for both", "-lease-name=mine -lease-namespace=cluster1 -hub-kubeconfig-secret=creds",
			environment(map[string]string{"POD_NAME": "pod-1", "POD_NAMESPACE": "addons"}), defaults},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(strings.Fields(test.args), test.env, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := got.Validate(); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	options, err := Parse([]string{"-lease-namespace=Bad_Name", "-lease-location=moon", "-lease-duration=0", "-startup-delay=-1",
		"-health-bind-address=8081", "-metrics-bind-address=:8080"}, environment(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = options.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"-lease-name is required", `-lease-namespace "Bad_Name": `, `-lease-location "moon": give hub or managed`,
		`-lease-duration "0s": `, `-startup-delay "-1s": `, `-health-bind-address "8081": `, `-metrics-bind-address ":8080": `,
		"$WATCH_NAMESPACE is required", "$POD_NAME is required", "$POD_NAMESPACE is required"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}

func TestValidateDuration(t *testing.T) {
	for _, test := range []struct {
		value  string
		valid  bool
		reason string
	}{
		{"1", true, "the shortest that the API can express"},
		{"5", true, "that of the original's test"},
		{"301", true, "longer than OCM waits, which is no matter on the hub"},
		{"24h", true, "a day"},
		{"2147483647s", true, "the longest that the API can express"},
		{"0", false, "the API server rejects it"},
		{"-60", false, "the API server rejects it"},
		{"999ms", false, "it is below a second"},
		{"2147483647001ms", false, "rounded up it is more than 32 bits"},
		{"2147483648s", false, "it is more than 32 bits"},
	} {
		options, err := Parse([]string{"-lease-name=mine", "-lease-namespace=cluster1", "-lease-duration=" + test.value}, inPod, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = options.Validate()
		if (err == nil) != test.valid || err != nil && !strings.Contains(err.Error(), "give seconds from 1 to 2147483647") {
			t.Errorf("%s, %s: got %v, want valid %t", test.value, test.reason, err, test.valid)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-no-such-flag":     "-no-such-flag; see " + Program + " -help",
		"-lease-duration=x": "give a number of seconds",
		// One more would not fit into the API's 32 bits.
		"-lease-duration=2147483648": "give at most 2147483647 seconds",
		// With -vmodule, client-go would log the bodies of requests.
		"-vmodule=request=10": "flag provided but not defined: -vmodule; see " + Program + " -help",
		"-lease-name=a extra": `unexpected argument "extra"`,
	} {
		_, err := Parse(strings.Fields(args), inPod, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", args, err, want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	var out bytes.Buffer
	if _, err := Parse([]string{"-help"}, inPod, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "-lease-location") ||
		!strings.Contains(out.String(), "WATCH_NAMESPACE") {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	if err := Main(t.Context(), []string{"--help"}, inPod, &out); err != nil || out.Len() == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	if err := Main(t.Context(), []string{"-version"}, inPod, &out); err != nil || !strings.HasPrefix(out.String(), Program+" version v") {
		t.Errorf("%v: %s", err, out.String())
	}
}

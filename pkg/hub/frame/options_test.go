package frame

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// valid are the flags that a program cannot do without.
var valid = []string{"--namespace=open-cluster-management"}

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	t.Setenv(podNamespaceEnv, "")
	opts := NewOptions()
	opts.Namespace = "" // not that of a pod in which the test may run
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	opts.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return opts
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		args []string
		errs []string // what each line of the message contains
	}{
		{name: "the least that is needed", args: valid},
		{name: "no leader election, so no matter what its times are", args: append([]string{"--leader-elect=false", "--leader-elect-retry-period=-1s"}, valid...)},
		{name: "nothing served", args: append([]string{"--secure-port=0"}, valid...)},
		{name: "nothing at all", errs: []string{"--namespace is missing"}},
		{name: "everything wrong is reported at once", args: []string{
			"--namespace=No", "--kube-api-qps=0", "--kube-api-burst=0", "--startup-timeout=0s",
			"--bind-address=here", "--secure-port=-1", "--tls-cert-file=a", "--leader-elect-renew-deadline=2m"},
			errs: []string{`--namespace="No"`, "--kube-api-qps=0", "--kube-api-burst=0", "--startup-timeout=0s",
				`--bind-address="here"`, "--secure-port=-1", `--tls-cert-file="a"`, "--leader-elect-lease-duration=1m0s must be above"}},
		{name: "a key without its certificate", args: append([]string{"--tls-private-key-file=k"}, valid...), errs: []string{"must be set together"}},
		{name: "retries that leave no time to renew", args: append([]string{"--leader-elect-retry-period=40s"}, valid...), errs: []string{"--leader-elect-renew-deadline=40s must be above 48s"}},
		{name: "retries without a pause", args: append([]string{"--leader-elect-retry-period=0s"}, valid...), errs: []string{"--leader-elect-retry-period=0s"}},
		{name: "a limit that is no number", args: append([]string{"--kube-api-qps=NaN"}, valid...), errs: []string{"--kube-api-qps=NaN must be above 0"}},
		{name: "a log format that does not exist", args: append([]string{"--logging-format=xml"}, valid...), errs: []string{"logging"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := parse(t, test.args...).Validate()
			if len(test.errs) == 0 {
				if err != nil {
					t.Errorf("got error %q, want none", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("got no error, want %d", len(test.errs))
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.errs) {
				t.Errorf("got %d problems, want %d:\n%v", len(lines), len(test.errs), err)
			}
			for i, want := range test.errs {
				if i < len(lines) && !strings.Contains(lines[i], want) {
					t.Errorf("problem %d is %q, want %q in it", i, lines[i], want)
				}
			}
		})
	}
}

func TestNamespaceOfThePod(t *testing.T) {
	t.Setenv(podNamespaceEnv, "from-env")
	if got := NewOptions().Namespace; got != "from-env" {
		t.Errorf("got %q, want the value of $%s", got, podNamespaceEnv)
	}
}

// TestStartupProbeOutlastsTheWait: a controller that waits for its hub is not to
// be killed before it reports why it gives up.
func TestStartupProbeOutlastsTheWait(t *testing.T) {
	for _, dir := range []string{"base", "distribution"} {
		content, err := os.ReadFile("../../../deploy/" + dir + "/deployment.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var deployment appsv1.Deployment
		if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
			t.Fatal(err)
		}
		probe := deployment.Spec.Template.Spec.Containers[0].StartupProbe
		patience := time.Duration(probe.PeriodSeconds*probe.FailureThreshold) * time.Second
		if defaultStartupTimeout >= patience {
			t.Errorf("%s: --startup-timeout is %s by default, the startup probe gives up after %s", dir, defaultStartupTimeout, patience)
		}
	}
}

package reporter

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/program"
)

// envLeafHubName is what the environment holds beside what the status sync knows.
const envLeafHubName = "LEAF_HUB_NAME"

// Program is the program's name.
const Program = "hub-of-hubs-status-report"

const leaderElectionID = "hub-of-hubs-status-report-lock"

// maxLeafHubName is how long a name the database's tables take.
const maxLeafHubName = 63

// Options are what the program is told. Only objects of the watched namespaces
// are reported.
type Options struct {
	program.Options
	// LeafHubName is what the global hub calls this leaf hub.
	LeafHubName string
	// Interval is the least time between two batches.
	Interval  time.Duration
	Heartbeat time.Duration
	Resync    time.Duration
}

// NewOptions returns the defaults, and what the environment says.
func NewOptions() *Options { return newOptions(os.Getenv) }

func newOptions(env func(string) string) *Options {
	o := &Options{
		Options:     program.NewOptions(program.Identity{Name: Program, Lock: leaderElectionID, Hub: "leaf hub", Work: "report"}, env),
		LeafHubName: env(envLeafHubName),
		Interval:    200 * time.Millisecond,
		Heartbeat:   10 * time.Second,
		Resync:      time.Hour,
	}
	o.KubeAPIQPS, o.KubeAPIBurst, o.MetricsAddr = 100, 200, ":8385"
	return o
}

// AddFlags adds a flag for each option that the environment alone does not hold.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	flags.StringVar(&o.LeafHubName, "leaf-hub-name", o.LeafHubName, "what the global hub calls this leaf hub (default: $"+envLeafHubName+")")
	flags.DurationVar(&o.Interval, "report-interval", o.Interval, "the least time between two batches; what changes in between is written once")
	flags.DurationVar(&o.Heartbeat, "heartbeat-interval", o.Heartbeat, "how often to say that the leaf hub is there")
	flags.DurationVar(&o.Resync, "resync-period", o.Resync, "how often to compare all that the database has with all that there is")
}

// Validate returns every problem with the options, each with what to do. The
// database's URL is looked at by whoever opens it.
func (o *Options) Validate() error {
	errs := o.Problems()
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.LeafHubName == "" {
		report("--leaf-hub-name is missing, and $%s does not say it: give what the global hub calls this leaf hub", envLeafHubName)
	} else if problems := validation.IsDNS1123Label(o.LeafHubName); len(problems) > 0 || len(o.LeafHubName) > maxLeafHubName {
		report("--leaf-hub-name=%q is not a name that the tables take: %s", o.LeafHubName, strings.Join(problems, "; "))
	}
	if o.Interval < time.Millisecond {
		report("--report-interval=%s must be 1ms or more, for example 200ms", o.Interval)
	}
	if o.Heartbeat < time.Second {
		report("--heartbeat-interval=%s must be 1s or more, for example 10s", o.Heartbeat)
	}
	if o.Resync < time.Minute {
		report("--resync-period=%s must be 1m or more, for example 1h", o.Resync)
	}
	return errors.Join(errs...)
}

package klusterlet

import (
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// logger returns the logger of a cluster's agents. Its messages have the cluster's name.
func logger(cluster string) klog.Logger {
	background := klog.Background().WithValues("cluster", cluster)
	return background.WithSink(quiet{background.GetSink()})
}

// quiet logs errors. Messages of verbosity n need n+1: OCM's controllers log each start and end of
// a worker with verbosity 0, a hundred lines per cluster.
type quiet struct{ logr.LogSink }

// Enabled reports whether messages of the verbosity are logged.
func (q quiet) Enabled(level int) bool { return q.LogSink.Enabled(level + 1) }

// WithValues returns a sink that adds the keys and values.
func (q quiet) WithValues(keysAndValues ...any) logr.LogSink {
	return quiet{q.LogSink.WithValues(keysAndValues...)}
}

// WithName returns a sink that adds the name.
func (q quiet) WithName(name string) logr.LogSink { return quiet{q.LogSink.WithName(name)} }

package klusterlet

import (
	"sync/atomic"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
)

// maxErrors is the number of errors per second that all clusters log together. Without its hub a
// cluster logs one about every five seconds.
const maxErrors = 100

// errorLimit limits the errors in the log.
type errorLimit struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

func newErrorLimit(perSecond int) *errorLimit {
	return &errorLimit{limiter: rate.NewLimiter(rate.Limit(perSecond), perSecond)}
}

// logger returns the logger of a cluster's agents. Its messages have the cluster's name.
func logger(cluster string, limit *errorLimit) klog.Logger {
	background := klog.Background().WithValues("cluster", cluster)
	return background.WithSink(quiet{LogSink: background.GetSink(), limit: limit})
}

// quiet logs errors, up to a limit. Other messages of verbosity n need n+1: OCM's controllers log
// each start and end of a worker with verbosity 0, a hundred lines per cluster.
type quiet struct {
	logr.LogSink
	limit *errorLimit
}

// Enabled reports whether messages of the verbosity are logged.
func (q quiet) Enabled(level int) bool { return q.LogSink.Enabled(level + 1) }

// Error logs an error and how many have been dropped since the one before, or drops it.
func (q quiet) Error(err error, message string, keysAndValues ...any) {
	if !q.limit.limiter.Allow() {
		q.limit.dropped.Add(1)
		return
	}
	if dropped := q.limit.dropped.Swap(0); dropped > 0 {
		keysAndValues = append(keysAndValues, "droppedErrors", dropped)
	}
	q.LogSink.Error(err, message, keysAndValues...)
}

// WithValues returns a sink that adds the keys and values.
func (q quiet) WithValues(keysAndValues ...any) logr.LogSink {
	return quiet{LogSink: q.LogSink.WithValues(keysAndValues...), limit: q.limit}
}

// WithName returns a sink that adds the name.
func (q quiet) WithName(name string) logr.LogSink {
	return quiet{LogSink: q.LogSink.WithName(name), limit: q.limit}
}

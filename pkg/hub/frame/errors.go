package frame

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	k8smetrics "k8s.io/component-base/metrics"
)

// CountErrors returns handlers and one that counts what they handle: each reconcile that failed and is retried, and each
// list or watch that failed. A program calls it once, because register fails for a second metric of the name.
func CountErrors(register func(...k8smetrics.Registerable), handlers []utilruntime.ErrorHandler) []utilruntime.ErrorHandler {
	failed := k8smetrics.NewCounter(&k8smetrics.CounterOpts{
		Name: "helloworld_controller_errors_total", StabilityLevel: k8smetrics.ALPHA,
		Help: "Reconciles, lists and watches that failed and are retried. A conflict with another writer is none.",
	})
	register(failed)
	return append(handlers[:len(handlers):len(handlers)], func(context.Context, error, string, ...any) { failed.Inc() })
}

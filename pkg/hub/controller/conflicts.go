package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// QuietConflicts returns error handlers that log a conflict at level 4 and hand
// every other error on. Several controllers write one ManagedClusterAddOn: the
// slower one gets "the object has been modified" and tries again, on every normal
// change.
func QuietConflicts(handlers []utilruntime.ErrorHandler) []utilruntime.ErrorHandler {
	return []utilruntime.ErrorHandler{func(ctx context.Context, err error, message string, keysAndValues ...any) {
		if apierrors.IsConflict(err) {
			klog.FromContext(ctx).V(4).Info("Another writer was faster, trying again", append(keysAndValues, "reason", err.Error())...)
			return
		}
		for _, handle := range handlers {
			handle(ctx, err, message, keysAndValues...)
		}
	}}
}

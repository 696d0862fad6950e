// Package controller is the program helloworld-controller: its options and command
// line, and the frame in which addon-framework's AddonManager runs the add-on on a hub:
// a check of the hub, a secure server for health and metrics, and leader election. See
// docs/design.md#flow.
//
// The frame uses k8s.io/apiserver and client-go, as Kubernetes' own controllers do.
// library-go's controllercmd offers the same, but it exits the process itself, when
// its server fails and when the leadership is lost, and it serves profiles.
// https://github.com/openshift/library-go/tree/14a789e09884/pkg/controller/controllercmd
//
// The framework gets informers and a client for ManifestWorks that protect it from an
// interrupted watch (lastKnown, works). All watches of the add-on API are interrupted
// when its conversion webhook is not reachable.
//
// Decisions about the add-on are in package addon.
package controller

import (
	"context"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/internal/commandline"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// NewCommand returns the command of the program. The caller prints its errors.
func NewCommand() *cobra.Command {
	opts := NewOptions()
	return commandline.New(commandline.Program{
		Name:  manifests.ControllerName,
		Short: "The hub side of the add-on " + manifests.AddonName + " for Open Cluster Management",
		Long: "Runs on a hub of Open Cluster Management: deploys the agent of the add-on " + manifests.AddonName +
			" to the managed clusters on which it is enabled, approves the agents' certificates, and grants their rights on the hub.",
		Logging: opts.Logging,
	}, opts, func(ctx context.Context) error { return Run(ctx, opts) })
}

// QuietConflicts returns error handlers that log a conflict at level 4, and pass every
// other error to handlers. Several controllers write one ManagedClusterAddOn, so on most
// changes one of them gets "the object has been modified" and retries.
func QuietConflicts(handlers []utilruntime.ErrorHandler) []utilruntime.ErrorHandler {
	return []utilruntime.ErrorHandler{func(ctx context.Context, err error, message string, keysAndValues ...any) {
		if apierrors.IsConflict(err) {
			klog.FromContext(ctx).V(4).Info("Retrying after a conflict with another writer", append(keysAndValues, "reason", err.Error())...)
			return
		}
		for _, handle := range handlers {
			handle(ctx, err, message, keysAndValues...)
		}
	}}
}

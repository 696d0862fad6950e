// Package controller is the program helloworld-controller: its options and command
// line, and the informers, clients and workers with which addon-framework's controllers run
// the add-on on a hub. See docs/design.md#flow.
//
// The framework gets informers and a client for ManifestWorks that protect it from an
// interrupted watch (lastKnown, works). All watches of the add-on API are interrupted
// when its conversion webhook is not reachable.
//
// Decisions about the add-on are in package addon. Package frame has what is not the add-on's:
// the server, the leader election, the connection to the hub.
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

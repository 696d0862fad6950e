// Command helloworld-controller is the hub side of the add-on helloworld for
// Open Cluster Management. See package controller.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics/legacyregistry"

	"open-cluster-management.io/helloworld-addon/pkg/hub/controller"
	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
)

func main() {
	utilruntime.ErrorHandlers = controller.QuietConflicts(frame.CountErrors(legacyregistry.MustRegister, utilruntime.ErrorHandlers))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := controller.NewCommand().ExecuteContext(ctx)
	stop()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintf(os.Stderr, "helloworld-controller: %v\n", err)
		os.Exit(1)
	}
}

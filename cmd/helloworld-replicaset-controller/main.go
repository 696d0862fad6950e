// Command helloworld-replicaset-controller carries out ConfigMapReplicaSets on a hub of Open
// Cluster Management. See package replicaset.
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

	"open-cluster-management.io/helloworld-addon/pkg/hub/frame"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset"
)

func main() {
	utilruntime.ErrorHandlers = frame.CountErrors(legacyregistry.MustRegister, utilruntime.ErrorHandlers)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := replicaset.NewCommand().ExecuteContext(ctx)
	stop()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintf(os.Stderr, "helloworld-replicaset-controller: %v\n", err)
		os.Exit(1)
	}
}

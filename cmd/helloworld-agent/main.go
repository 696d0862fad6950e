// Command helloworld-agent runs on a managed cluster and mirrors its ConfigMaps
// from the hub.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	// The image has no certificate authorities: these are for a hub whose
	// kubeconfig names none, because its certificate is publicly trusted.
	_ "golang.org/x/crypto/x509roots/fallback"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := agent.NewCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", manifests.AgentCommand, err)
		os.Exit(1)
	}
}

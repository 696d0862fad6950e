// Command helloworld-agent mirrors a managed cluster's ConfigMaps from the hub. See
// package agent.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	// The image has no system roots. These verify a hub whose kubeconfig has no CA
	// bundle, because its certificate is publicly trusted.
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

// Command klusterlet-addon-lease-controller runs beside an add-on's container and
// renews the add-on's lease. See package sidecar.
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

	"open-cluster-management.io/helloworld-addon/pkg/agent/sidecar"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := sidecar.Main(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", sidecar.Program, err)
		os.Exit(1)
	}
}

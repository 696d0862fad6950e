// Command tool is an image's program for the tests of exec, pods and images: wait, spin, grpc
// ADDRESS, exit CODE, cat, which copies its input, and print FILE.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "wait":
		time.Sleep(time.Hour)
		return nil
	case len(args) == 1 && args[0] == "spin":
		for {
			_ = os.Getppid()
		}
	case len(args) == 2 && args[0] == "grpc":
		return serveHealth(args[1])
	case len(args) == 1 && args[0] == "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case len(args) == 2 && args[0] == "print":
		content, err := os.ReadFile(args[1])
		if err == nil {
			_, err = os.Stdout.Write(content)
		}
		return err
	case len(args) == 2 && args[0] == "exit":
		code, err := strconv.Atoi(args[1])
		if err == nil {
			os.Exit(code)
		}
		return err
	}
	return fmt.Errorf("give wait, spin, cat, print and a file, grpc and an address, or exit and a code, not %q", args)
}

// serveHealth serves the health of the service "ready" by gRPC.
func serveHealth(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server, services := grpc.NewServer(), health.NewServer()
	services.SetServingStatus("ready", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, services)
	return server.Serve(listener)
}

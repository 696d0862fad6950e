// Command tool is an image's program for the tests of exec, pods and images: wait, spin, grpc
// ADDRESS, exit CODE, cat, which copies its input, print FILE, write FILE TEXT, version, and
// about, which prints what it got from its image.
package main

import (
	"errors"
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

// command is what the program does, with a number of arguments.
type command struct {
	args int
	run  func(args []string) error
}

var commands = map[string]command{
	"about":   {0, func([]string) error { return about() }},
	"version": {0, func([]string) error { _, err := fmt.Print(version); return err }},
	"wait":    {0, func([]string) error { return wait() }},
	"spin":    {0, func([]string) error { return spin() }},
	"cat":     {0, func([]string) error { return copyOut(os.Stdin) }},
	"grpc":    {1, func(args []string) error { return serveHealth(args[0]) }},
	"print":   {1, func(args []string) error { return printFile(args[0]) }},
	"write":   {2, func(args []string) error { return os.WriteFile(args[0], []byte(args[1]), 0o644) }},
	"exit":    {1, func(args []string) error { return exit(args[0]) }},
}

// version is set by -ldflags. With the version broken, wait fails at once.
var version = "none"

// about prints the user and the environment that an image configures.
func about() error {
	dir, err := os.Getwd()
	fmt.Printf("user %d:%d, directory %s, HOME %s, A %s, B %s", os.Getuid(), os.Getgid(), dir, os.Getenv("HOME"), os.Getenv("A"), os.Getenv("B"))
	return err
}

func run(args []string) error {
	if len(args) > 0 {
		if c, ok := commands[args[0]]; ok && c.args == len(args)-1 {
			return c.run(args[1:])
		}
	}
	return fmt.Errorf("give about, version, wait, spin, cat, print FILE, write FILE TEXT, grpc ADDRESS or exit CODE, not %q", args)
}

func wait() error {
	if version == "broken" {
		return errors.New("this version is broken")
	}
	time.Sleep(time.Hour)
	return nil
}

func spin() error {
	for {
		_ = os.Getppid()
	}
}

func copyOut(from io.Reader) error {
	_, err := io.Copy(os.Stdout, from)
	return err
}

func printFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(copyOut(file), file.Close())
}

func exit(code string) error {
	number, err := strconv.Atoi(code)
	if err == nil {
		os.Exit(number)
	}
	return err
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

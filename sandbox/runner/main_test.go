package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// TestMain lets the test's program be the guard, and a program that runs a command, which a test can kill.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	switch {
	case len(os.Args) > 2 && os.Args[1] == GuardCommand:
		err = Guard(os.Stdin, os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "run":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = Run(ctx, fake(os.Args[2:]...))
	default:
		return m.Run()
	}
	if exit := new(ExitError); errors.As(err, &exit) {
		return exit.Code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fake returns options with a sandbox that is only a directory.
func fake(command ...string) Options {
	return Options{
		Command:  command,
		KeepLogs: os.Getenv("KEEP_LOGS"),
		Keep:     os.Getenv("KEEP") != "",
		Messages: os.Stderr,
		Up: func(_ context.Context, dir string) ([]string, error) {
			acquired, err := statedir.Acquire(dir)
			if err != nil {
				return nil, err
			}
			return []string{"SANDBOX_DIR=" + dir, "PATH=" + os.Getenv("PATH") + ":" + os.Getenv("PROGRAMS")}, acquired.Lock.Close()
		},
		Collect: func(_ context.Context, _, to string) error {
			return os.WriteFile(filepath.Join(to, "logs"), nil, 0o600)
		},
	}
}

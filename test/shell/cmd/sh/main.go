// Command sh is the shell of the tests' stand-in for a small image such as
// busybox: the clusters of the tests pull nothing, and an example add-on that is
// a shell script has to run on them as it is. It knows `sh -c SCRIPT`, the
// shell's own builtins and sleep.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var status interp.ExitStatus
	switch {
	case errors.As(err, &status):
		os.Exit(int(status))
	case err != nil:
		fmt.Fprintf(os.Stderr, "sh: %s\n", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 || args[0] != "-c" {
		return errors.New("give -c and a script")
	}
	script, err := syntax.NewParser().Parse(strings.NewReader(args[1]), "")
	if err != nil {
		return fmt.Errorf("parse the script: %w", err)
	}
	shell, err := interp.New(interp.StdIO(nil, os.Stdout, os.Stderr), interp.ExecHandlers(commands))
	if err != nil {
		return err
	}
	return shell.Run(ctx, script)
}

// commands are what the image has beside the shell's builtins.
func commands(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		if args[0] != "sleep" || len(args) != 2 {
			return next(ctx, args)
		}
		seconds, err := strconv.ParseFloat(args[1], 64)
		if err != nil {
			return fmt.Errorf("sleep: %w", err)
		}
		slept, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
		<-slept.Done()
		return ctx.Err()
	}
}

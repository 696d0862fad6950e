package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
)

// upUntilEOF starts a sandbox, closes out when it is ready, and ends it when in or ctx ends. When that
// happens during the start, Up removes the sandbox.
func upUntilEOF(ctx context.Context, options launcher.Options, in io.Reader, out io.Closer) error {
	// the reader of the messages may be gone before the sandbox is
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// a read of standard input cannot be interrupted: after a signal the goroutine ends with the process
	go func() {
		_, _ = io.Copy(io.Discard, in) // an input that cannot be read has ended
		cancel()
	}()
	if err := launcher.Up(ctx, options); err != nil {
		return err
	}
	err := launcher.Report(ctx, options)
	if closeErr := out.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close standard output: %w", closeErr))
	}
	if err == nil {
		<-ctx.Done()
	}
	options.Out = io.Discard
	return errors.Join(err, launcher.Down(options))
}

// Command kubectl-helloworld is the kubectl plugin "kubectl helloworld". See package kubectl.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	err := kubectl.NewCommand(streams).ExecuteContext(ctx)
	stop()
	if err != nil {
		code, printed := terminal.ExitCode(err)
		if printed {
			fmt.Fprintf(os.Stderr, "error: %v\n", err)
		}
		os.Exit(code)
	}
}

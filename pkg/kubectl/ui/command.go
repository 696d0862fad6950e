// Package ui is the command "kubectl helloworld ui": a page that shows the add-on on all clusters of a hub, for one person on one
// machine. It serves the page on the loopback address, with the rights of that person's kubeconfig, and writes nothing.
//
//	hub ── status.Follow, rollouts ──► board ── updateOf ──► /updates: server-sent events
//	    ◄────────── doctor.Examine ◄── /cluster, when a person opens a cluster's panel
//
// The files in assets are the page: view.js decides what is shown, app.js and panel.js show it. They are served as they are, and
// no library is among them.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// Options are the command line.
type Options struct {
	// Port is the TCP port of the page on 127.0.0.1; 0 means any free one.
	Port int
}

// Validate returns all problems of the command line.
func (o Options) Validate() error {
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("--port=%d: want 0 for a free port, or a port up to 65535", o.Port)
	}
	return nil
}

const example = `  # serve the page, and open the URL that is printed
  kubectl helloworld ui

  # on a machine that you reach by SSH: ssh -L 8001:127.0.0.1:8001 MACHINE, and there
  kubectl helloworld ui --port=8001`

// NewCommand returns the command.
func NewCommand(config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) *cobra.Command {
	options := Options{}
	command := &cobra.Command{
		Use:     "ui",
		Short:   "Serve a page that shows the add-on on all clusters",
		Example: example,
		Long: "Serve a page on 127.0.0.1 that shows the add-on on all clusters and follows what changes, until Ctrl-C.\n\n" +
			"The page has the rights of your kubeconfig, and writes nothing. Its URL has a secret: whoever has it and\n" +
			"reaches this machine's loopback address sees what you may see.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return terminal.Unanswered(run(command.Context(), options, config, streams))
		},
	}
	command.Flags().IntVar(&options.Port, "port", 0, "port on 127.0.0.1; 0 means any free one")
	terminal.UnansweredFlags(command)
	return command
}

// Timeouts of the page's connections. An answer has none, since updates are one that does not end.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = time.Second
)

func run(ctx context.Context, o Options, config genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) error {
	if err := o.Validate(); err != nil {
		return err
	}
	restConfig, err := config.ToRESTConfig()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return fmt.Errorf("--port=%d: %w", o.Port, err)
	}
	return serve(ctx, listener, newServer(config, clock.RealClock{}), restConfig, streams.Out)
}

// serve serves the page until ctx ends, or the hub cannot be asked in the beginning.
func serve(ctx context.Context, listener net.Listener, s *server, config *rest.Config, out io.Writer) error {
	page, err := s.handler()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	followed, err := newRollouts(config, s.clock)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	g := &guard{host: hostOf(listener.Addr()), token: newToken(), page: page}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return serveWeb(running, listener, g) })
	group.Go(func() error {
		return status.Follow(running, config, s.clock, func(fleet status.Fleet) error {
			s.board.change(func(now *state) { now.Fleet = fleet })
			return nil
		})
	})
	group.Go(func() error {
		followed.follow(running, func(all []Rollout, groups []PlacementGroups, problem string) {
			s.board.change(func(now *state) { now.Rollouts, now.Groups, now.RolloutsError = all, groups, problem })
		})
		return nil
	})
	group.Go(func() error {
		if _, err := fmt.Fprintf(out, "the fleet of %s is at\n\n  http://%s/%s/\n\nuntil Ctrl-C\n", config.Host, g.host, g.token); err != nil {
			return fmt.Errorf("print the page's URL: %w", err)
		}
		return nil
	})
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // a person has ended it, maybe before the hub had answered
}

// serveWeb serves HTTP until ctx ends.
func serveWeb(ctx context.Context, listener net.Listener, handler http.Handler) error {
	web := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: klog.NewStandardLogger("WARNING"),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the page: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if web.Shutdown(ending) != nil {
			return web.Close()
		}
		return nil
	})
	return group.Wait()
}

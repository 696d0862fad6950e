// Package httpserver serves health and metrics by plain HTTP. ListenAll binds every
// address first, so that a taken one fails the start of the program. HealthHandler
// and MetricsHandler are what the servers serve.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Timeouts of the servers, whose requests and answers are small.
const (
	requestTimeout  = 10 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Off is the address that disables a server.
const Off = "0"

// Endpoint is an address to listen on and what it serves.
type Endpoint struct {
	// Flag is the name of the flag with the address, for errors.
	Flag    string
	Address string
	Handler http.Handler
}

// Server is an HTTP server that already listens.
type Server struct {
	flag     string
	listener net.Listener
	http     *http.Server
}

// ListenAll binds the address of every endpoint that is not Off. It binds all or
// none.
func ListenAll(ctx context.Context, endpoints ...Endpoint) ([]*Server, error) {
	var servers []*Server
	for _, e := range endpoints {
		if e.Address == Off {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", e.Address)
		if err != nil {
			err = fmt.Errorf("listen on --%s %q: %w", e.Flag, e.Address, err)
			for _, s := range servers {
				err = errors.Join(err, s.listener.Close())
			}
			return nil, err
		}
		servers = append(servers, &Server{flag: e.Flag, listener: listener, http: &http.Server{
			Handler:           e.Handler,
			ReadHeaderTimeout: requestTimeout,
			ReadTimeout:       requestTimeout,
			WriteTimeout:      requestTimeout,
		}})
	}
	return servers, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve --%s: %w", s.flag, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop serving --%s: %w", s.flag, err)
	}
	return nil
}

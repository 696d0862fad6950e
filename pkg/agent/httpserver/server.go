// Package httpserver serves health and metrics by plain HTTP: it binds an
// address at once, so that a taken one is told before anything is started, and
// ends in order. What is served is the caller's.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Timeouts of the servers: their requests are a line, and their answers small.
const (
	requestTimeout  = 10 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Server is an HTTP server that listens already.
type Server struct {
	flag     string
	listener net.Listener
	http     *http.Server
}

// Listen binds the address that the flag gives; its name is for errors.
func Listen(ctx context.Context, flag, address string, handler http.Handler) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on --%s %q: %w", flag, address, err)
	}
	return &Server{flag: flag, listener: listener, http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: requestTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
	}}, nil
}

// Close lets go of the address of a server that was never run.
func (s *Server) Close() error { return s.listener.Close() }

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

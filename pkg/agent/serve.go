package agent

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

// server is an HTTP server that listens already.
type server struct {
	flag     string
	listener net.Listener
	http     *http.Server
}

// listen binds the address that the flag gives.
func listen(ctx context.Context, flag, address string, handler http.Handler) (*server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on --%s %q: %w", flag, address, err)
	}
	return &server{flag: flag, listener: listener, http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: requestTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout,
	}}, nil
}

// run serves until ctx ends.
func (s *server) run(ctx context.Context) error {
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

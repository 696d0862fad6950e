package hubclient

import (
	"context"
	"errors"
)

// session is a connection, and serve at work on it. A nil session is one that
// was never started.
type session struct {
	connection *Connection
	cancel     context.CancelFunc
	done       chan error
}

// errServeEnded is for a serve that returns without a reason.
var errServeEnded = errors.New("ended without an error")

func startSession(ctx context.Context, connection *Connection, serve Serve) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{connection: connection, cancel: cancel, done: make(chan error, 1)}
	go func() {
		err := serve(ctx, connection.Config())
		if err == nil {
			err = errServeEnded
		}
		s.done <- err
		close(s.done)
	}()
	return s
}

// ended gives serve's error. It blocks for ever on a nil session.
func (s *session) ended() <-chan error {
	if s == nil {
		return nil
	}
	return s.done
}

// end stops serve, waits for it, and closes the connection.
func (s *session) end() {
	if s == nil {
		return
	}
	s.cancel()
	for range s.done {
	}
	s.connection.close()
}

// trouble says why the hub does not answer; a session that was never started
// has nothing to complain of.
func (s *session) trouble() error {
	if s == nil {
		return nil
	}
	return s.connection.trouble()
}

package container

import (
	"io"
	"os"
	"sync"
)

// outputs are the writers of one container, written to in turn.
type outputs struct {
	mu    sync.Mutex
	first error
}

// sink wraps a writer, but for a file: the program gets that itself.
func (o *outputs) sink(w io.Writer) io.Writer {
	switch w := w.(type) {
	case nil:
		return nil
	case *os.File:
		if w == nil {
			return nil
		}
		return w
	}
	return &sink{outputs: o, writer: w}
}

func (o *outputs) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// sink goes on taking what it is given when its writer fails: a disk full of
// logs must not kill the program with SIGPIPE.
type sink struct {
	outputs *outputs
	writer  io.Writer
	failed  bool
}

func (s *sink) Write(p []byte) (int, error) {
	s.outputs.mu.Lock()
	defer s.outputs.mu.Unlock()
	if s.failed {
		return len(p), nil
	}
	if _, err := s.writer.Write(p); err != nil {
		s.failed = true
		if s.outputs.first == nil {
			s.outputs.first = err
		}
	}
	return len(p), nil
}

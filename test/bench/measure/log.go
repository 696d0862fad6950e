package measure

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// log prints the progress of one subject.
type log struct {
	out     io.Writer
	started time.Time
	subject string

	// mu is one for the logs of all subjects, which share out.
	mu      *sync.Mutex
	partial []byte
}

func newLog(out io.Writer) *log {
	return &log{out: out, started: time.Now(), mu: &sync.Mutex{}}
}

// of returns the log of a subject, with the same output.
func (l *log) of(subject string) *log {
	return &log{out: l.out, started: l.started, subject: subject, mu: l.mu}
}

func (l *log) say(format string, args ...any) {
	elapsed := time.Since(l.started).Round(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "%7s  %-5s  %s\n", elapsed, l.subject, fmt.Sprintf(format, args...))
}

// Write shows the output of commands, indented, line by line as it comes whole.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(l.out, "%14s | %s\n", l.subject, line); err != nil {
			return 0, fmt.Errorf("show a command's output: %w", err)
		}
		l.partial = rest
	}
}

package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func newTap() (*tap, *bytes.Buffer) {
	log := &bytes.Buffer{}
	file := &logFile{clock: testingclock.NewFakePassiveClock(noon), out: nopCloser{log}}
	return &tap{log: file.stream("stdout")}, log
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// attached waits until a tap has a client.
func attached(t *testing.T, from *tap) {
	t.Helper()
	for range 1000 {
		from.mu.Lock()
		n := len(from.clients)
		from.mu.Unlock()
		if n == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nobody is attached")
}

func TestAttachPassesOutputFromNowOn(t *testing.T) {
	from, log := newTap()
	write(t, from, "before\n")
	var to bytes.Buffer
	ended := make(chan error)
	go func() { ended <- attach(t.Context(), t.Context(), []attachment{{from, &to}}) }()
	attached(t, from)
	write(t, from, "an incomplete")
	write(t, from, " line")
	if err := from.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || to.String() != "an incomplete line" {
		t.Errorf("the client got %q, %v", to.String(), err)
	}
	if bytes.Count(log.Bytes(), []byte("\n")) != 2 {
		t.Errorf("log: %s", log)
	}
	if err := attach(t.Context(), t.Context(), []attachment{{from, &to}}); err != nil {
		t.Errorf("attach after the end: %v", err)
	}
}

func TestAttachEndsWithTheClient(t *testing.T) {
	from, _ := newTap()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- attach(ctx, t.Context(), []attachment{{from, io.Discard}}) }()
	attached(t, from)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	go func() { ended <- attach(t.Context(), ctx, nil) }()
	if err := <-ended; err != nil {
		t.Errorf("a client that only writes, of a container that has ended: %v", err)
	}
}

// blocked is a client that reads nothing until it is closed.
type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) { <-b; return len(p), nil }

func TestAttachNeverStopsTheProgram(t *testing.T) {
	from, log := newTap()
	client := make(blocked)
	ended := make(chan error)
	go func() { ended <- attach(t.Context(), t.Context(), []attachment{{from, client}}) }()
	attached(t, from)
	for range attachBuffer + 10 {
		write(t, from, "line\n")
	}
	close(client)
	if err := <-ended; !errors.Is(err, errSlowClient) {
		t.Errorf("got %v, want %v", err, errSlowClient)
	}
	if got := bytes.Count(log.Bytes(), []byte("\n")); got != attachBuffer+10 {
		t.Errorf("%d lines in the log", got)
	}
}

// reluctant takes one write.
type reluctant struct{ writes int }

func (r *reluctant) Write(p []byte) (int, error) {
	if r.writes++; r.writes > 1 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// The rest of an input that a program does not want is read all the same.
func TestFeedDiscardsWhatIsNotWanted(t *testing.T) {
	from := bytes.NewBuffer(make([]byte, 1<<20))
	feed(nopCloser{&reluctant{}}, struct{ io.Reader }{from})
	if from.Len() > 0 {
		t.Errorf("%d bytes are left", from.Len())
	}
}

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Message is sent from the supervisor to the process that started it: a completed step, that the
// sandbox is ready, or the error that ended it.
type Message struct {
	Step  string `json:"step,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
}

// Progress writes messages to the process that started the supervisor. It writes nothing after Ready
// or Error, because that process may be gone.
type Progress struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// NewProgress returns a Progress that writes to out and closes it after the last message.
func NewProgress(out io.WriteCloser) *Progress { return &Progress{out: out} }

// Step reports a completed step.
func (p *Progress) Step(format string, args ...any) {
	p.send(Message{Step: fmt.Sprintf(format, args...)}, false)
}

// Ready reports that the sandbox is ready.
func (p *Progress) Ready() { p.send(Message{Ready: true}, true) }

// Failed reports why the sandbox could not be started.
func (p *Progress) Failed(err error) { p.send(Message{Error: err.Error()}, true) }

func (p *Progress) send(m Message, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	// the reader may have been killed: the sandbox continues without it
	_ = json.NewEncoder(p.out).Encode(m)
	if last {
		_ = p.out.Close()
		p.out = nil
	}
}

// Follow reads messages until the sandbox is ready. It returns the error of a failed start.
func Follow(in io.Reader, step func(string)) error {
	decoder := json.NewDecoder(in)
	for {
		var m Message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return errors.New("the supervisor ended without reporting an error")
		case err != nil:
			return fmt.Errorf("read the supervisor's progress: %w", err)
		case m.Error != "":
			return errors.New(m.Error)
		case m.Ready:
			return nil
		}
		step(m.Step)
	}
}

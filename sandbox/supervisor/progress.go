package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Message is what the supervisor tells the process that started it: a step that
// is done, that all is ready, or the error that ended it.
type Message struct {
	Step  string `json:"step,omitempty"`
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
}

// Progress writes messages for the process that started the supervisor. After
// Ready or Error nothing more is written: that process may be gone.
type Progress struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// NewProgress writes to out, and closes it after the last message.
func NewProgress(out io.WriteCloser) *Progress { return &Progress{out: out} }

// Step tells that a step is done.
func (p *Progress) Step(format string, args ...any) {
	p.send(Message{Step: fmt.Sprintf(format, args...)}, false)
}

// Ready tells that the sandbox is ready.
func (p *Progress) Ready() { p.send(Message{Ready: true}, true) }

// Failed tells why the sandbox could not be started.
func (p *Progress) Failed(err error) { p.send(Message{Error: err.Error()}, true) }

func (p *Progress) send(m Message, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	// whoever listened may have been killed: the sandbox goes on without it
	_ = json.NewEncoder(p.out).Encode(m)
	if last {
		_ = p.out.Close()
		p.out = nil
	}
}

// Follow reads messages until the sandbox is ready, and returns the error if it
// could not be started.
func Follow(in io.Reader, step func(string)) error {
	decoder := json.NewDecoder(in)
	for {
		var m Message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return errors.New("the supervisor ended without a word")
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

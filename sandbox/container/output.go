package container

import (
	"io"
	"os"
	"sync"
	"time"
)

// output copies what a program writes.
type output struct {
	from *os.File
	to   io.Writer

	mu sync.Mutex
	// quiet limits each read once the program has ended, 0 before.
	quiet time.Duration
}

// copy copies until all processes have closed the output. If the writer fails, it discards
// the rest, so that the program does not notice.
func (o *output) copy() {
	_, _ = io.Copy(o.to, reader{o})
	_, _ = io.Copy(io.Discard, reader{o})
}

// reader hides the file's other methods from io.Copy.
type reader struct{ output *output }

func (r reader) Read(p []byte) (int, error) {
	r.output.mu.Lock()
	r.output.deadline()
	r.output.mu.Unlock()
	return r.output.from.Read(p)
}

// programEnded limits each wait for processes that the program has left behind. Output that
// the writer has not taken yet is copied, however slow the writer is.
func (o *output) programEnded(quiet time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.quiet == 0 {
		o.quiet = quiet
	}
	o.deadline()
}

// abort ends the reads.
func (o *output) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.quiet = -1
	o.deadline()
}

func (o *output) deadline() {
	if o.quiet != 0 {
		_ = o.from.SetReadDeadline(time.Now().Add(o.quiet))
	}
}

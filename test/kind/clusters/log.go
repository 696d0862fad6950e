package clusters

import (
	"fmt"
	"strings"
	"sync"

	kindlog "sigs.k8s.io/kind/pkg/log"
)

// recorder is a logger for kind that keeps the last message, which says what
// kind is at, and passes warnings on, each once.
type recorder struct {
	warn func(format string, args ...any)

	mu     sync.Mutex
	last   string
	warned map[string]bool
}

var _ kindlog.Logger = &recorder{}

// at is what kind is at.
func (r *recorder) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// note keeps the letters of a message: kind draws marks around them.
func (r *recorder) note(message string) {
	message = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c > 0x7f && c != '≤' {
			return -1
		}
		return c
	}, message))
	message = strings.TrimSpace(strings.TrimSuffix(message, "..."))
	if message == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = message
}

// Warn tells a warning once.
func (r *recorder) Warn(message string) {
	r.mu.Lock()
	known := r.warned[message]
	if r.warned == nil {
		r.warned = map[string]bool{}
	}
	r.warned[message] = true
	r.mu.Unlock()
	if !known {
		r.warn("%s", message)
	}
}

// Warnf tells a warning once.
func (r *recorder) Warnf(format string, args ...any) { r.Warn(fmt.Sprintf(format, args...)) }

// Error tells an error that kind goes on after.
func (r *recorder) Error(message string) { r.warn("%s", message) }

// Errorf tells an error that kind goes on after.
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// V is a logger that notes what kind is at.
func (r *recorder) V(level kindlog.Level) kindlog.InfoLogger {
	if level > 0 {
		return kindlog.NoopInfoLogger{}
	}
	return step{r}
}

type step struct{ *recorder }

func (s step) Info(message string)              { s.note(message) }
func (s step) Infof(format string, args ...any) { s.note(fmt.Sprintf(format, args...)) }
func (s step) Enabled() bool                    { return true }

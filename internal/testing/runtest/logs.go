package runtest

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"
)

// Logs collects the log of one program. The zero value is ready to use.
type Logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the whole log.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Contain reports whether the log has the text.
func (l *Logs) Contain(text string) bool { return strings.Contains(l.String(), text) }

// ProcessLogs collects the log of the process while the test runs.
func ProcessLogs(t *testing.T) *Logs {
	t.Helper()
	settings := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(settings)
	set := func(name, value string) {
		if err := settings.Set(name, value); err != nil {
			t.Error(err)
		}
	}
	output := &Logs{}
	set("logtostderr", "false")
	set("stderrthreshold", "FATAL")
	klog.SetOutput(output)
	t.Cleanup(func() {
		klog.Flush()
		klog.SetOutput(os.Stderr)
		set("logtostderr", "true")
		set("stderrthreshold", "ERROR")
		set("v", "0")
	})
	return output
}

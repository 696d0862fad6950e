package node

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// maxLogLine is the longest part of a line that is kept in one record, which is
// containerd's.
const maxLogLine = 16 * 1024

// logStore is where the containers' logs are, in the layout and format of
// kubelet's: NAMESPACE_POD_UID/CONTAINER/RUN.log, a record for each line.
type logStore struct{ dir string }

func (l logStore) podDir(namespace, name, uid string) string {
	return filepath.Join(l.dir, namespace+"_"+name+"_"+uid)
}

func (l logStore) of(pod *corev1.Pod) string {
	return l.podDir(pod.Namespace, pod.Name, string(pod.UID))
}

// file is the log of one run of a container, counted by its restarts.
func (l logStore) file(pod *corev1.Pod, container string, run int32) string {
	return filepath.Join(l.of(pod), container, fmt.Sprintf("%d.log", run))
}

// create opens the log of a new run, and removes the one before the previous:
// like kubelet the node keeps two.
func (l logStore) create(pod *corev1.Pod, container string, run int32) (*os.File, error) {
	path := l.file(pod, container, run)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the log's directory: %w", err)
	}
	if run >= 2 {
		_ = os.Remove(l.file(pod, container, run-2)) // gone already when the node is new
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// keep removes the logs of all pods but the given ones.
func (l logStore) keep(pods []*corev1.Pod) error {
	kept := map[string]bool{}
	for _, p := range pods {
		kept[l.of(p)] = true
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(l.dir, e.Name())
		if kept[path] {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the logs of a pod that is gone: %w", err)
		}
	}
	return nil
}

// logFile takes the output of one run.
type logFile struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	out   io.WriteCloser
}

// stream is the writer for stdout or stderr.
func (f *logFile) stream(name string) *logStream { return &logStream{name: name, to: f} }

// logStream cuts one output stream into records.
type logStream struct {
	name string
	to   *logFile
	rest []byte
}

// Write takes whatever the process wrote; a line without an end waits for it.
func (s *logStream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, partial, rest, ok := cutLine(s.rest)
		if !ok {
			s.rest = append([]byte(nil), rest...)
			return len(p), nil
		}
		s.rest = rest
		if err := s.to.record(s.name, line, partial); err != nil {
			return 0, err
		}
	}
}

// flush writes a last line that has no end.
func (s *logStream) flush() error {
	if len(s.rest) == 0 {
		return nil
	}
	line := s.rest
	s.rest = nil
	return s.to.record(s.name, line, false)
}

// cutLine takes the next record off: a line, or a part of one that is too long.
func cutLine(text []byte) (line []byte, partial bool, rest []byte, ok bool) {
	end := bytes.IndexByte(text, '\n')
	switch {
	case end >= 0 && end <= maxLogLine:
		return text[:end], false, text[end+1:], true
	case len(text) > maxLogLine:
		return text[:maxLogLine], true, text[maxLogLine:], true
	}
	return nil, false, text, false
}

func (f *logFile) record(stream string, line []byte, partial bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.out.Write(formatRecord(f.clock.Now(), stream, line, partial))
	return err
}

// formatRecord writes a record: TIME STREAM F|P TEXT.
func formatRecord(at time.Time, stream string, line []byte, partial bool) []byte {
	tag := "F"
	if partial {
		tag = "P"
	}
	return fmt.Appendf(nil, "%s %s %s %s\n", at.UTC().Format(time.RFC3339Nano), stream, tag, line)
}

// logRecord is a record that was read.
type logRecord struct {
	At      time.Time
	Text    string
	Partial bool
}

// parseRecord reads a record without its newline.
func parseRecord(text string) (logRecord, error) {
	parts := strings.SplitN(text, " ", 4)
	if len(parts) != 4 {
		return logRecord{}, fmt.Errorf("log record %.40q is not TIME STREAM TAG TEXT", text)
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	if err != nil {
		return logRecord{}, fmt.Errorf("time of a log record: %w", err)
	}
	return logRecord{At: at, Text: parts[3], Partial: parts[2] == "P"}, nil
}

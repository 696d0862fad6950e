package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// maxLogLine is the largest part of a line in one record, as in containerd.
const maxLogLine = 16 * 1024

// logStore is the directory of the containers' logs, in kubelet's layout and format:
// NAMESPACE_POD_UID/CONTAINER/RUN.log, with a record for each line.
type logStore struct{ dir string }

func (l logStore) podDir(namespace, name, uid string) string {
	return filepath.Join(l.dir, namespace+"_"+name+"_"+uid)
}

func (l logStore) of(pod *corev1.Pod) string {
	return l.podDir(pod.Namespace, pod.Name, string(pod.UID))
}

// file returns the path of the log of one run of a container; the first run is 0.
func (l logStore) file(pod *corev1.Pod, container string, run int32) string {
	return filepath.Join(l.of(pod), container, fmt.Sprintf("%d.log", run))
}

// create opens the log of a new run and removes the third latest one: like kubelet,
// the node keeps two.
func (l logStore) create(pod *corev1.Pod, container string, run int32) (*os.File, error) {
	path := l.file(pod, container, run)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the log's directory: %w", err)
	}
	if run >= 2 {
		_ = os.Remove(l.file(pod, container, run-2)) // missing after a restart of the node
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// keep removes the logs of all pods except the given ones.
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
			return fmt.Errorf("remove the logs of a deleted pod: %w", err)
		}
	}
	return nil
}

// logFile writes the output of one run.
type logFile struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	out   io.WriteCloser
}

// stream returns the writer for stdout or stderr.
func (f *logFile) stream(name string) *logStream { return &logStream{name: name, to: f} }

// logStream splits one output stream into records.
type logStream struct {
	name string
	to   *logFile
	rest []byte
}

// Write writes a record for each complete line, and buffers an incomplete one.
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

// flush writes the incomplete last line.
func (s *logStream) flush() error {
	if len(s.rest) == 0 {
		return nil
	}
	line := s.rest
	s.rest = nil
	return s.to.record(s.name, line, false)
}

// cutLine cuts off the next record: a line, or a part of a line that is too long.
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

// formatRecord returns a record: TIME STREAM F|P TEXT (full or partial line).
func formatRecord(at time.Time, stream string, line []byte, partial bool) []byte {
	tag := "F"
	if partial {
		tag = "P"
	}
	return fmt.Appendf(nil, "%s %s %s %s\n", at.UTC().Format(time.RFC3339Nano), stream, tag, line)
}

// logRecord is a parsed record.
type logRecord struct {
	At      time.Time
	Text    string
	Partial bool
}

// parseRecord parses a record without its newline.
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

// followPeriod is the time between two reads of a followed log.
const followPeriod = 100 * time.Millisecond

// logQuery selects a part of a log, and its format.
type logQuery struct {
	// Tail is the number of lines from the end, Limit that of bytes; 0 means all.
	Tail, Limit int
	// Since is the time of the first line.
	Since      time.Time
	Timestamps bool
	Follow     bool
}

func queryOf(opts api.ContainerLogOpts, now time.Time) logQuery {
	q := logQuery{Tail: opts.Tail, Limit: opts.LimitBytes, Since: opts.SinceTime, Timestamps: opts.Timestamps, Follow: opts.Follow}
	if opts.SinceSeconds > 0 {
		q.Since = now.Add(-time.Duration(opts.SinceSeconds) * time.Second)
	}
	return q
}

// logReader reads the log of one run.
type logReader struct {
	query logQuery
	clock clock.WithTicker
	// ended reports whether the log is complete.
	ended func() bool
	// written is the number of bytes that the reader has returned.
	written int
	// inLine is true after a partial record.
	inLine bool
}

// open starts to read. The caller must close the returned reader.
func (r *logReader) open(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		err := r.copy(ctx, f, in)
		in.CloseWithError(errors.Join(err, f.Close()))
	}()
	return closeBoth{out, cancel}, nil
}

// closeBoth ends the copying goroutine when the reader is closed.
type closeBoth struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (c closeBoth) Close() error {
	c.cancel()
	return c.PipeReader.Close()
}

// errEnough means that the limit of bytes is reached.
var errEnough = errors.New("limit reached")

func (r *logReader) copy(ctx context.Context, f *os.File, out io.Writer) error {
	skip, err := r.skip(f)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	var pending string
	for {
		// before the read, so that the last lines are not missed
		ended := !r.query.Follow || r.ended()
		text, err := lines.ReadString('\n')
		pending += text
		switch {
		case err == nil:
			record, e := parseRecord(pending[:len(pending)-1])
			pending = ""
			if e == nil && skip > 0 {
				e, skip = nil, skip-boolToInt(!record.Partial)
			} else if e == nil {
				e = r.write(out, record)
			}
			if errors.Is(e, errEnough) {
				return nil
			}
			if e != nil {
				return e
			}
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("read the log: %w", err)
		case ended:
			return nil
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-r.clock.After(followPeriod):
			}
		}
	}
}

// skip returns the number of lines before the requested ones.
func (r *logReader) skip(f *os.File) (int, error) {
	if r.query.Tail <= 0 {
		return 0, nil
	}
	count := 0
	lines := bufio.NewReader(f)
	for {
		text, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("count the log's lines: %w", err)
		}
		if record, e := parseRecord(text[:len(text)-1]); e == nil && !record.Partial {
			count++
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("go back in the log: %w", err)
	}
	return max(count-r.query.Tail, 0), nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// write writes one record as the query asks.
func (r *logReader) write(out io.Writer, record logRecord) error {
	if record.At.Before(r.query.Since) {
		return nil
	}
	text := record.Text
	if r.query.Timestamps && !r.inLine {
		text = record.At.Format(time.RFC3339Nano) + " " + text
	}
	if r.inLine = record.Partial; !record.Partial {
		text += "\n"
	}
	limit := r.query.Limit
	if limit > 0 && r.written+len(text) > limit {
		text = text[:limit-r.written]
	}
	n, err := io.WriteString(out, text)
	r.written += n
	if err != nil {
		return err
	}
	if limit > 0 && r.written >= limit {
		return errEnough
	}
	return nil
}

// Kubelet's limits of a termination message: bytes of the file, and bytes and lines
// of the log that replaces it.
const (
	terminationBytes     = 4096
	terminationLogBytes  = 2048
	terminationLogLines  = 80
	terminationFileMode  = 0o666
	terminationFileInPod = "termination-log"
)

// makeTerminationFile creates the file for a container's termination message.
func makeTerminationFile(dir string) (string, error) {
	path := filepath.Join(dir, terminationFileInPod)
	if err := os.WriteFile(path, nil, terminationFileMode); err != nil {
		return "", fmt.Errorf("create the termination message file: %w", err)
	}
	if err := os.Chmod(path, terminationFileMode); err != nil {
		return "", fmt.Errorf("set the mode of the termination message file: %w", err)
	}
	return path, nil
}

// terminationMessage returns the content of a container's termination message file.
// If that is empty, the run failed and the policy is FallbackToLogsOnError, it returns
// the end of the log.
func terminationMessage(c corev1.Container, file, log string, failed bool) string {
	message := readEnd(file, terminationBytes)
	if message != "" || !failed || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return message
	}
	return lastLines(readEnd(log, 2*terminationLogBytes), terminationLogLines, terminationLogBytes)
}

// lastLines returns the texts of the last records of a log.
func lastLines(log string, lines, bytes int) string {
	records := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	var texts []string
	size := 0
	for i := len(records) - 1; i >= 0 && len(texts) < lines; i-- {
		record, err := parseRecord(records[i])
		if err != nil || size+len(record.Text)+1 > bytes {
			break
		}
		size += len(record.Text) + 1
		texts = append([]string{record.Text}, texts...)
	}
	return strings.Join(texts, "\n")
}

// readEnd returns the end of a file, empty if the file cannot be read.
func readEnd(path string, bytes int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(size-bytes, 0), io.SeekStart)
	}
	content, err := io.ReadAll(io.LimitReader(f, bytes))
	if err != nil {
		return ""
	}
	return string(content)
}

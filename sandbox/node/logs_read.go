package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"k8s.io/utils/clock"
)

// followPeriod is how often a log that is followed is looked at.
const followPeriod = 100 * time.Millisecond

// logQuery is which part of a log is wanted, and how.
type logQuery struct {
	// Tail is how many lines from the end, 0 for all; Limit how many bytes, 0 for all.
	Tail, Limit int
	// Since leaves out older lines.
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
	// ended says that nothing more will be written.
	ended func() bool
	// written counts the bytes given out.
	written int
	// inLine says that the last record was a part of a line.
	inLine bool
}

// open starts to read; the reader that it returns must be closed.
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

// errEnough says that the limit of bytes is reached.
var errEnough = errors.New("limit reached")

func (r *logReader) copy(ctx context.Context, f *os.File, out io.Writer) error {
	skip, err := r.skip(f)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	var pending string
	for {
		// asked before the file is read, so that what was written last is not missed
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

// skip is how many lines come before the ones that are wanted.
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

// write gives out one record, as far as it is wanted.
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

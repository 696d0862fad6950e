package memapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestWatchBehind has a watch whose client reads nothing. It must end, or it would keep
// all later events in memory.
func TestWatchBehind(t *testing.T) {
	a := NewServer(Options{}).Add(t.Context(), "fleet-0001")
	a.mu.Lock()
	w := a.watch(builtins[configMaps], selector{}, &metav1.ListOptions{ResourceVersion: "0"})
	defer w.stop()
	events := a.table(configMaps.GroupResource())
	for n, e := range events.objects {
		for range watchBehind + 1 {
			a.record(builtins[configMaps], &event{what: watch.Modified, name: n, now: e, before: e})
		}
		break
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	for _, want := range []string{"ADDED", "ERROR", ""} {
		lines, err := w.next(ctx)
		if want == "" {
			if !errors.Is(err, io.EOF) {
				t.Errorf("after the error: %s, %v, want the end", lines, err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(string(lines), `{"type":"`+want) {
			t.Errorf("events: %.80s, %v, want %s", lines, err, want)
		}
	}
}

// unread is a connection whose client reads nothing: a write ends only at its deadline.
type unread struct {
	*httptest.ResponseRecorder
	deadline time.Time
	ctx      context.Context
}

func (u *unread) SetWriteDeadline(deadline time.Time) error {
	u.deadline = deadline
	return nil
}

func (u *unread) Write([]byte) (int, error) {
	if u.deadline.IsZero() {
		<-u.ctx.Done()
	}
	return 0, os.ErrDeadlineExceeded
}

// TestUnread: while a write waits for the client, its events are kept. It must not wait for ever.
func TestUnread(t *testing.T) {
	a := NewServer(Options{}).Add(t.Context(), "fleet-0001")
	for name, serve := range map[string]func(http.ResponseWriter, context.Context){
		"watch": func(w http.ResponseWriter, ctx context.Context) {
			const path = "/api/v1/configmaps"
			a.serve(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path+"?watch=true", nil), path)
		},
		"stream": func(w http.ResponseWriter, ctx context.Context) {
			f := newFeed()
			f.send("line")
			f.run(ctx, w)
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
		serve(&unread{ResponseRecorder: httptest.NewRecorder(), ctx: ctx}, ctx)
		if ctx.Err() != nil {
			t.Errorf("%s: it waits for a client that reads nothing", name)
		}
		cancel()
	}
}

// TestPushed: a client that has read may be silent for any time, so no deadline is left.
func TestPushed(t *testing.T) {
	w := &reading{ResponseRecorder: httptest.NewRecorder()}
	if err := push(w, []byte("line")); err != nil || w.Body.String() != "line" || !w.Flushed {
		t.Errorf("got %q, flushed %v, %v", w.Body, w.Flushed, err)
	}
	if !w.deadline.IsZero() {
		t.Errorf("the deadline %v is left", w.deadline)
	}
}

// reading is a connection whose client reads.
type reading struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *reading) SetWriteDeadline(deadline time.Time) error {
	r.deadline = deadline
	return nil
}

func TestStreamBehind(t *testing.T) {
	f := newFeed()
	f.lines.Write(make([]byte, streamBehind+1))
	if _, err := f.take(); err == nil {
		t.Error("a stream whose client reads nothing goes on")
	}
}

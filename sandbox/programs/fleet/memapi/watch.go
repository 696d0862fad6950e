package memapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

const (
	// watchTime is the least time of a watch that sets no timeout; the most is twice
	// as much, as on an API server.
	watchTime = 30 * time.Minute
	// watchBehind is the number of events that a watch can be behind. A watch whose
	// client does not read must not keep all events in memory.
	watchBehind = 20_000
)

// watcher is one watch. It is read by next and has no goroutine: the reader's waits.
type watcher struct {
	api       *API
	kind      *kind
	table     *table
	selector  selector
	bookmarks bool
	last      *event // read last
	initial   []byte // what is sent before the events
	timeout   clock.Timer
	over      bool
}

// watch starts a watch. The caller holds a.mu.
func (a *API) watch(k *kind, s selector, o *metav1.ListOptions) *watcher {
	w := &watcher{api: a, kind: k, table: a.table(k.GroupResource()), selector: s, bookmarks: o.AllowWatchBookmarks}
	limit := wait.Jitter(watchTime, 1)
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		limit = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	w.timeout = a.server.clock.NewTimer(limit)
	if all := o.SendInitialEvents; all != nil && *all || all == nil && (o.ResourceVersion == "" || o.ResourceVersion == "0") {
		w.begin(all != nil)
		return w
	}
	version, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if o.ResourceVersion == "" || o.ResourceVersion == "0" {
		version, err = a.version, nil
	}
	from, found := w.table.at(version)
	switch {
	case err != nil:
		w.initial = w.fail(apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q", o.ResourceVersion)))
	case !found || version > a.version:
		w.initial = w.fail(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, w.table.first.version)))
	default:
		w.last = from
	}
	return w
}

// begin sends the objects that exist as created. A streaming list
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists) ends
// with a bookmark that is marked.
func (w *watcher) begin(streaming bool) {
	w.last = w.table.last
	var b bytes.Buffer
	for _, n := range w.table.names(w.selector.namespace) {
		if e := w.table.objects[n]; w.selector.matches(n, e) {
			writeEvent(&b, watch.Added, e.in(w.kind))
		}
	}
	if streaming && w.bookmarks {
		w.bookmark(&b, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	w.initial = b.Bytes()
}

// fail ends the watch with an error event, which it returns.
func (w *watcher) fail(err *apierrors.StatusError) []byte {
	w.over = true
	var b bytes.Buffer
	writeEvent(&b, watch.Error, statusBody(err))
	return b.Bytes()
}

// next returns the next events as lines of JSON, and io.EOF when the watch is over. It
// waits until there are any.
func (w *watcher) next(ctx context.Context) ([]byte, error) {
	for {
		lines, ready := w.pending()
		switch {
		case len(lines) > 0:
			return lines, nil
		case ready == nil:
			return nil, io.EOF
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-w.api.ctx.Done():
			return nil, io.EOF
		case <-w.timeout.C():
			return w.end()
		}
	}
}

// pending returns the events that happened, or a channel that is closed at the next.
// Both are empty when the watch is over.
func (w *watcher) pending() ([]byte, <-chan struct{}) {
	if len(w.initial) > 0 || w.over {
		lines := w.initial
		w.initial = nil
		return lines, nil
	}
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	if w.table.last.number-w.last.number > watchBehind {
		return w.fail(apierrors.NewResourceExpired("the watch is too far behind")), nil
	}
	var b bytes.Buffer
	for w.last.next != nil {
		w.last = w.last.next
		w.write(&b, w.last)
	}
	if b.Len() > 0 {
		return b.Bytes(), nil
	}
	if w.last.ready == nil {
		w.last.ready = make(chan struct{})
	}
	return nil, w.last.ready
}

// end returns what a watch sends when its time is over.
func (w *watcher) end() ([]byte, error) {
	w.over = true
	if !w.bookmarks {
		return nil, io.EOF
	}
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	var b bytes.Buffer
	for w.last.next != nil {
		w.last = w.last.next
		w.write(&b, w.last)
	}
	w.bookmark(&b, nil)
	return b.Bytes(), nil
}

// write writes an event as this watch sees it: an object that the selector begins or
// ceases to match is created or deleted.
func (w *watcher) write(b *bytes.Buffer, e *event) {
	what, seen := selected(w.selector, e)
	if seen {
		writeEvent(b, what, e.now.in(w.kind))
	}
}

// selected returns the type of an event for those who see only what s selects, and
// whether they see it.
func selected(s selector, e *event) (watch.EventType, bool) {
	if s.namespace != "" && s.namespace != e.name.Namespace {
		return "", false
	}
	before := s.matches(e.name, e.before)
	now := e.what != watch.Deleted && s.matches(e.name, e.now)
	switch {
	case before && now:
		return watch.Modified, true
	case now:
		return watch.Added, true
	case before:
		return watch.Deleted, true
	}
	return "", false
}

// bookmark writes a bookmark of the current resource version.
func (w *watcher) bookmark(b *bytes.Buffer, annotations map[string]string) {
	data, err := json.Marshal(&metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: w.kind.name, APIVersion: w.kind.apiVersion()},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(w.api.version, 10), Annotations: annotations},
	})
	if err == nil {
		writeEvent(b, watch.Bookmark, data)
	}
}

func writeEvent(b *bytes.Buffer, what watch.EventType, object []byte) {
	fmt.Fprintf(b, `{"type":%q,"object":%s}`+"\n", what, object)
}

// stop frees the watch's timer.
func (w *watcher) stop() { w.timeout.Stop() }

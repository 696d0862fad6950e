package memapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// maxBody is the size of a request's body that an API server accepts.
const maxBody = 3 << 20

// API is the Kubernetes API of one simulated cluster.
type API struct {
	server *Server
	name   string
	ctx    context.Context // ends with the cluster
	end    context.CancelFunc
	log    klog.Logger
	start  uint64 // the version before the first write

	mu        sync.Mutex
	version   uint64 // the resource version of the last write
	tables    map[schema.GroupResource]*table
	custom    kinds
	workloads map[workloadKey]*workload
	changes   map[workloadKey]bool // that the behaviours have not seen yet
}

// Config returns the configuration of clients in this process. Their requests go over no
// network and are not limited in rate.
func (a *API) Config() *rest.Config {
	return &rest.Config{Host: "http://" + a.name + ".invalid", Transport: (*transport)(a), QPS: -1}
}

// transport carries the requests of clients in the same process.
type transport API

var _ http.RoundTripper = &transport{}

// RoundTrip answers a request in the caller's goroutine.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	a := (*API)(t)
	in, err := read(r, r.URL.Path)
	if err != nil {
		return nil, err
	}
	out := a.answer(r.Context(), in)
	response := &http.Response{
		Status: fmt.Sprintf("%d %s", out.code, http.StatusText(out.code)), StatusCode: out.code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {out.contentType()}},
		ContentLength: int64(len(out.body)), Request: r,
		Body: io.NopCloser(bytes.NewReader(out.body)),
	}
	if out.watch != nil {
		ctx, cancel := context.WithCancel(r.Context())
		response.ContentLength = -1
		response.Body = &watchBody{watch: out.watch, ctx: ctx, cancel: cancel}
	}
	return response, nil
}

// read reads a request for path. It closes the body, as a RoundTripper has to.
func read(r *http.Request, path string) (*request, error) {
	in := &request{method: r.Method, path: path, query: r.URL.Query(), header: r.Header}
	if r.Body == nil {
		return in, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	in.body = body
	return in, nil
}

func (out answer) contentType() string {
	if out.text {
		return "text/plain; charset=utf-8"
	}
	return "application/json"
}

// watchBody is the body of an answered watch in memory.
type watchBody struct {
	watch   *watcher
	ctx     context.Context
	cancel  context.CancelFunc
	pending []byte
}

// Read waits for the watch's next events.
func (b *watchBody) Read(p []byte) (int, error) {
	if len(b.pending) == 0 {
		lines, err := b.watch.next(b.ctx)
		if err != nil {
			return 0, err
		}
		b.pending = lines
	}
	n := copy(p, b.pending)
	if b.pending = b.pending[n:]; len(b.pending) == 0 {
		b.pending = nil // an empty slice would keep all that was read
	}
	return n, nil
}

// Close ends the watch.
func (b *watchBody) Close() error {
	b.cancel()
	b.watch.stop()
	return nil
}

// serve answers a request that came over the network for path.
func (a *API) serve(w http.ResponseWriter, r *http.Request, path string) {
	in, err := read(r, path)
	if err != nil {
		write(w, failure(apierrors.NewBadRequest(err.Error())))
		return
	}
	out := a.answer(r.Context(), in)
	if out.watch == nil {
		write(w, out)
		return
	}
	defer out.watch.stop()
	w.Header().Set("Content-Type", out.contentType())
	w.WriteHeader(out.code)
	var lines []byte
	for {
		if err := push(w, lines); err != nil {
			return
		}
		if lines, err = out.watch.next(r.Context()); err != nil {
			return
		}
	}
}

// pushTimeout is how long a client can take to read what is sent to it. What happens meanwhile is
// kept for it.
const pushTimeout = time.Minute

// push sends lines to a client at once. It returns an error when the client does not read them.
func push(w http.ResponseWriter, lines []byte) error {
	controller := http.NewResponseController(w)
	if err := controller.SetWriteDeadline(time.Now().Add(pushTimeout)); err != nil {
		return err
	}
	if _, err := w.Write(lines); err != nil {
		return err
	}
	if err := controller.Flush(); err != nil {
		return err
	}
	return controller.SetWriteDeadline(time.Time{})
}

func write(w http.ResponseWriter, out answer) {
	w.Header().Set("Content-Type", out.contentType())
	w.WriteHeader(out.code)
	w.Write(out.body) //nolint:errcheck // the client is gone
}

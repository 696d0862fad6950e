package memapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// streamBehind is how many bytes a stream's client can be behind.
const streamBehind = 64 << 20

// feed is the lines that wait to be sent to one client.
type feed struct {
	mu    sync.Mutex
	lines bytes.Buffer
	ready chan struct{}
}

func newFeed() *feed { return &feed{ready: make(chan struct{}, 1)} }

// send adds a line.
func (f *feed) send(line any) {
	data, err := json.Marshal(line)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.lines.Write(append(data, '\n'))
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *feed) take() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines.Len() > streamBehind {
		return nil, errors.New("the client is too far behind")
	}
	lines := bytes.Clone(f.lines.Bytes())
	f.lines = bytes.Buffer{}
	return lines, nil
}

// run writes the lines to w until ctx ends.
func (f *feed) run(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		lines, err := f.take()
		if err != nil {
			return
		}
		if err := push(w, lines); err != nil {
			return
		}
		select {
		case <-f.ready:
		case <-ctx.Done():
			return
		}
	}
}

// streams are the clients that follow all clusters.
type streams struct {
	mu        sync.Mutex
	workloads []*workloadStream
	watches   []*watchStream
	// claimed are the images that a client has claimed. A claim outlives its stream, because a
	// client that restarts runs them again.
	claimed map[string]bool
}

// workloadStream is a client that runs the workloads of some images.
type workloadStream struct {
	*feed
	images  map[string]bool
	running map[types.UID]bool // pods of which the client knows
}

// watchStream is a client that sees the writes of one resource in all clusters.
type watchStream struct {
	*feed
	resource schema.GroupResource
	selector selector
}

// workloadEvent is a line of the stream of workloads.
type workloadEvent struct {
	Type      string            `json:"type"`
	Cluster   string            `json:"cluster,omitempty"`
	Kind      string            `json:"kind,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	UID       types.UID         `json:"uid,omitempty"`
	Pod       string            `json:"pod,omitempty"`
	PodUID    types.UID         `json:"podUID,omitempty"`
	Container *corev1.Container `json:"container,omitempty"`
}

func (a *API) workloadEvent(key workloadKey, w *workload) workloadEvent {
	return workloadEvent{
		Cluster: a.name, Kind: key.kind, Namespace: key.name.Namespace, Name: key.name.Name, UID: w.uid,
		Pod: w.pod.name, PodUID: w.pod.uid, Container: &w.pod.container,
	}
}

// claims reports whether a client runs, or has run, the workloads of an image.
func (s *streams) claims(image string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return claims(s.claimed, image)
}

// claims reports whether the images have one or its repository. A claim without a tag or digest
// is for all of them.
func claims(images map[string]bool, image string) bool {
	return images[image] || images[repository(image)]
}

// repository returns an image's name without its tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

// workload notifies the clients that claim its image of a workload that starts or stops.
func (s *streams) workload(what string, e workloadEvent) {
	e.Type = what
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workloads {
		w.notify(e)
	}
}

// notify sends e if the client claims its image, and was not sent the same before.
func (w *workloadStream) notify(e workloadEvent) {
	start := e.Type == "START"
	if !claims(w.images, e.Container.Image) || w.running[e.PodUID] == start {
		return
	}
	if start {
		w.running[e.PodUID] = true
	} else {
		delete(w.running, e.PodUID)
	}
	w.send(e)
}

// serveWorkloads serves the workloads of the images that the client claims.
func (s *Server) serveWorkloads(w http.ResponseWriter, r *http.Request) {
	stream := &workloadStream{feed: newFeed(), images: map[string]bool{}, running: map[types.UID]bool{}}
	for _, image := range r.URL.Query()["image"] {
		stream.images[image] = true
	}
	s.streams.mu.Lock()
	maps.Copy(s.streams.claimed, stream.images)
	s.streams.workloads = append(s.streams.workloads, stream)
	s.streams.mu.Unlock()
	defer func() {
		s.streams.mu.Lock()
		defer s.streams.mu.Unlock()
		s.streams.workloads = without(s.streams.workloads, stream)
	}()
	for _, a := range s.all() {
		a.mu.Lock()
		for key, w := range a.workloads {
			if w.pod == nil {
				continue
			}
			e := a.workloadEvent(key, w)
			e.Type = "START"
			s.streams.mu.Lock()
			stream.notify(e)
			s.streams.mu.Unlock()
		}
		a.mu.Unlock()
	}
	stream.send(workloadEvent{Type: "SYNCED"})
	stream.run(r.Context(), w)
}

// without returns all without one, in a slice of its own.
func without[T comparable](all []T, one T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(other T) bool { return other == one })
}

// all returns the clusters' APIs.
func (s *Server) all() []*API {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*API, 0, len(s.clusters))
	for _, a := range s.clusters {
		all = append(all, a)
	}
	return all
}

// serveDone takes the result of a Job's function.
func (s *Server) serveDone(w http.ResponseWriter, r *http.Request) {
	var result struct {
		Error string `json:"error"`
	}
	in, err := read(r, r.URL.Path)
	if err == nil {
		err = json.Unmarshal(in.body, &result)
	}
	if err != nil {
		write(w, failure(apierrors.NewBadRequest(err.Error())))
		return
	}
	a := s.cluster(r.PathValue("cluster"))
	if a == nil || !a.done(types.UID(r.PathValue("pod")), result.Error) {
		write(w, failure(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, r.PathValue("pod"))))
		return
	}
	write(w, answer{code: http.StatusOK, body: []byte("{}")})
}

// watchEvent is a line of the watch of all clusters.
type watchEvent struct {
	Cluster string          `json:"cluster,omitempty"`
	Type    watch.EventType `json:"type"`
	Time    string          `json:"time,omitempty"`
	Object  jsonObject      `json:"object,omitempty"`
}

// jsonObject is an object that is JSON already.
type jsonObject []byte

// MarshalJSON returns the object.
func (o jsonObject) MarshalJSON() ([]byte, error) { return o, nil }

// serveWatch serves the later writes of one resource in all clusters.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	stream := &watchStream{feed: newFeed(), resource: schema.ParseGroupResource(query.Get("resource"))}
	var err error
	if stream.selector, err = selection(target{}, query); err == nil && stream.resource.Empty() {
		err = apierrors.NewBadRequest(fmt.Sprintf("invalid resource %q", query.Get("resource")))
	}
	if err != nil {
		write(w, failure(err))
		return
	}
	stream.send(watchEvent{Type: "SYNCED"})
	s.streams.mu.Lock()
	s.streams.watches = append(s.streams.watches, stream)
	s.streams.mu.Unlock()
	defer func() {
		s.streams.mu.Lock()
		defer s.streams.mu.Unlock()
		s.streams.watches = without(s.streams.watches, stream)
	}()
	stream.run(r.Context(), w)
}

// publish sends a write to the clients that watch all clusters.
func (s *Server) publish(cluster string, k *kind, e *event) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	for _, w := range s.streams.watches {
		if w.resource != k.GroupResource() {
			continue
		}
		if what, seen := selected(w.selector, e); seen {
			w.send(watchEvent{Cluster: cluster, Type: what, Time: e.time.Format(time.RFC3339Nano), Object: e.now.data})
		}
	}
}

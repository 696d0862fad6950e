package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor"
)

const (
	// aliveEvery is how often a page is sent an event that only shows that the program is still there. app.js waits for two.
	aliveEvery = 10 * time.Second
	// alive is that event. The script of a page sees no comment.
	alive = "event: alive\ndata: {}\n\n"
	// writeTimeout is how long a page may take to read an update.
	writeTimeout = 30 * time.Second
	// mostExaminations is how many clusters are examined at a time. Each takes some two dozen requests to the hub.
	mostExaminations = 4
	examineTimeout   = time.Minute
	// slotTimeout is how long a question waits for the others.
	slotTimeout = 20 * time.Second
)

// server answers the page.
type server struct {
	board   board
	clock   clock.WithTicker
	examine func(ctx context.Context, cluster string, now time.Time) (*doctor.Examination, error)
	// examining has a value for each cluster that is examined.
	examining chan struct{}
}

func newServer(config genericclioptions.RESTClientGetter, clock clock.WithTicker) *server {
	return &server{clock: clock, examining: make(chan struct{}, mostExaminations),
		examine: func(ctx context.Context, cluster string, now time.Time) (*doctor.Examination, error) {
			return doctor.Examine(ctx, config, cluster, now)
		}}
}

// handler returns the page and what it asks for.
func (s *server) handler() (http.Handler, error) {
	page, err := files()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/updates", s.updates)
	mux.HandleFunc("/select", s.selected)
	mux.HandleFunc("/cluster", s.cluster)
	return mux, nil
}

// updates sends a page everything, and then what changes, as server-sent events.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
func (s *server) updates(w http.ResponseWriter, r *http.Request) {
	changed, closePage := s.board.open()
	defer closePage()
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := s.clock.NewTicker(aliveEvery)
	defer ticker.Stop()
	send := func(text string) error {
		control := http.NewResponseController(w)
		deadline := control.SetWriteDeadline(time.Now().Add(writeTimeout)) //nolint:forbidigo // the connection's clock
		_, err := fmt.Fprint(w, text)
		return errors.Join(deadline, err, control.Flush())
	}
	if send(alive) != nil {
		return
	}
	var known state
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C():
			if send(alive) != nil {
				return
			}
		case <-changed:
			now := s.board.get()
			update := updateOf(known, now)
			known = now
			if update == nil {
				continue
			}
			data, err := json.Marshal(update)
			if err != nil || send("data: "+string(data)+"\n\n") != nil {
				return // the page connects again
			}
		}
	}
}

// selected answers which clusters a label selector selects.
func (s *server) selected(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("selector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	names := []string{}
	for name, of := range s.board.get().Labels {
		if selector.Matches(labels.Set(of)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	answer(w, names)
}

// cluster answers what doctor finds on a cluster.
func (s *server) cluster(w http.ResponseWriter, r *http.Request) {
	if !s.reserve(r.Context()) {
		http.Error(w, fmt.Sprintf("%d clusters are examined already, and none was done within %v: select the cluster again", mostExaminations, slotTimeout), http.StatusServiceUnavailable)
		return
	}
	defer func() { <-s.examining }()
	ctx, cancel := context.WithTimeout(r.Context(), examineTimeout)
	defer cancel()
	name := r.URL.Query().Get("name")
	if _, known := s.board.get().rows()[name]; !known {
		http.Error(w, fmt.Sprintf("the hub has no cluster %q", name), http.StatusNotFound)
		return
	}
	examination, err := s.examine(ctx, name, s.clock.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer(w, examination)
}

// reserve waits until another cluster can be examined, and reports whether it can.
func (s *server) reserve(ctx context.Context) bool {
	timer := s.clock.NewTimer(slotTimeout)
	defer timer.Stop()
	select {
	case s.examining <- struct{}{}:
		return true
	case <-timer.C():
	case <-ctx.Done(): // the page has given up
	}
	return false
}

func answer(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the page has gone
}

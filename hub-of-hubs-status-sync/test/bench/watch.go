package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// watched is a kind of object, and the number in its status that is measured.
type watched struct {
	path  string
	count func(*event) int
}

var (
	policies       = watched{"/apis/policy.open-cluster-management.io/v1/namespaces/" + namespace + "/policies", (*event).nonCompliant}
	addOnSummaries = watched{"/apis/helloworld.open-cluster-management.io/v1alpha1/addonsummaries", (*event).available}
)

// watcher knows the number of each object, from one watch of the global hub.
type watcher struct {
	count   func(*event) int
	mu      sync.Mutex
	counts  map[string]int
	at      map[string]time.Time
	events  int
	changed chan struct{}
}

// event is as much of a watch event as is needed.
type event struct {
	Type   string
	Object struct {
		Metadata struct{ Name string }
		Status   struct {
			Compliant string
			// Available is an AddOnSummary's.
			Available *int
			Details   []struct{ History []struct{ Message string } }
			Status    []struct{ Compliant string }
		}
	}
}

// summary is what a Policy says whose clusters do not all fit.
var summary = regexp.MustCompile(`(\d+) NonCompliant`)

// nonCompliant returns how many clusters the Policy says are not compliant, and -1 while it says nothing.
func (e *event) nonCompliant() int {
	status := &e.Object.Status
	for _, detail := range status.Details {
		for _, entry := range detail.History {
			if found := summary.FindStringSubmatch(entry.Message); found != nil {
				count, err := strconv.Atoi(found[1])
				if err == nil {
					return count
				}
			}
		}
	}
	if len(status.Status) == 0 {
		return -1
	}
	count := 0
	for _, entry := range status.Status {
		if entry.Compliant == "NonCompliant" {
			count++
		}
	}
	return count
}

// available returns the number of clusters on which the add-on is available, and -1 while there is none.
func (e *event) available() int {
	if e.Object.Status.Available == nil {
		return -1
	}
	return *e.Object.Status.Available
}

// watch starts to watch; the watch ends with ctx.
func watch(ctx context.Context, config *rest.Config, what watched) (*watcher, <-chan error, error) {
	response, err := openWatch(ctx, config, what) //nolint:bodyclose // the goroutine that reads it closes it
	if err != nil {
		return nil, nil, err
	}
	w := &watcher{count: what.count, counts: map[string]int{}, at: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		defer response.Body.Close()
		decoder := json.NewDecoder(response.Body)
		for {
			var next event
			if err := decoder.Decode(&next); err != nil {
				ended <- fmt.Errorf("watch %s: %w", what.path, err)
				return
			}
			w.note(&next)
		}
	}()
	return w, ended, nil
}

// openWatch starts the request. An API server that has just learned of a kind answers 429 for a moment.
func openWatch(ctx context.Context, config *rest.Config, what watched) (*http.Response, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	url := address(config) + what.path + "?watch=true&timeoutSeconds=864000"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		response, err := httpClient.Do(request)
		if err != nil || response.StatusCode == http.StatusOK {
			return response, err
		}
		err = errors.Join(fmt.Errorf("watch %s: %s", what.path, response.Status), response.Body.Close())
		if response.StatusCode != http.StatusTooManyRequests {
			return nil, err
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

func (w *watcher) note(e *event) {
	count, now := w.count(e), time.Now()
	w.mu.Lock()
	w.counts[e.Object.Metadata.Name], w.at[e.Object.Metadata.Name] = count, now
	w.events++
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// right returns whether every object has the expected number, and when the last one began to.
func (w *watcher) right(expected map[string]int) (bool, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var last time.Time
	for name, count := range expected {
		if got, found := w.counts[name]; !found || got != count {
			return false, last
		}
		if w.at[name].After(last) {
			last = w.at[name]
		}
	}
	return true, last
}

// wrong describes one of the objects that do not have the expected number.
func (w *watcher) wrong(expected map[string]int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, count := "", 0
	for name, want := range expected {
		if got := w.counts[name]; got != want {
			text, count = fmt.Sprintf("%s has %d, want %d", name, got, want), count+1
		}
	}
	return fmt.Sprintf("%d of %d objects are wrong, for example %s", count, len(expected), text)
}

// await waits until every object has the expected number and returns when the last one began to.
func (w *watcher) await(ctx context.Context, expected map[string]int) (time.Time, error) {
	for {
		if right, last := w.right(expected); right {
			return last, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the status: %w; %s", context.Cause(ctx), w.wrong(expected))
		}
	}
}

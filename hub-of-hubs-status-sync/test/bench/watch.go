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

// watcher knows how many clusters each Policy says are not compliant, from one watch of the global hub.
type watcher struct {
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

// watch starts to watch; the watch ends with ctx.
func watch(ctx context.Context, config *rest.Config) (*watcher, <-chan error, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	url := address(config) + "/apis/policy.open-cluster-management.io/v1/namespaces/" + namespace + "/policies?watch=true&timeoutSeconds=864000"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	response, err := httpClient.Do(request) //nolint:bodyclose // the goroutine that reads it closes it
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, nil, errors.Join(fmt.Errorf("watch the Policies: %s", response.Status), response.Body.Close())
	}
	w := &watcher{counts: map[string]int{}, at: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		defer response.Body.Close()
		decoder := json.NewDecoder(response.Body)
		for {
			var next event
			if err := decoder.Decode(&next); err != nil {
				ended <- fmt.Errorf("watch the Policies: %w", err)
				return
			}
			w.note(&next)
		}
	}()
	return w, ended, nil
}

func (w *watcher) note(e *event) {
	count, now := e.nonCompliant(), time.Now()
	w.mu.Lock()
	w.counts[e.Object.Metadata.Name], w.at[e.Object.Metadata.Name] = count, now
	w.events++
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// right returns whether every Policy has the expected status, and when the last one began to.
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

// await waits until every Policy has the expected status and returns when the last one began to.
func (w *watcher) await(ctx context.Context, expected map[string]int) (time.Time, error) {
	for {
		if right, last := w.right(expected); right {
			return last, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait for the Policies' status: %w", context.Cause(ctx))
		}
	}
}

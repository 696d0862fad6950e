package ui

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Paths of the resources of which rollouts are made.
const (
	setsPath      = "/apis/helloworld.open-cluster-management.io/v1alpha1/configmapreplicasets"
	addOnsPath    = "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons"
	newAddOnsPath = "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons"
	decisionsPath = "/apis/cluster.open-cluster-management.io/v1beta1/placementdecisions"
)

// listed is a hub that answers lists. Its watches send nothing until they are ended. It serves no path that it does not have.
type listed struct {
	mu sync.Mutex
	// lists are the objects in the list of a path, and refused the paths that may not be read.
	lists   map[string]string
	refused map[string]bool
	// end ends the watches that are there, and requests are the paths of all requests so far.
	end      chan struct{}
	watches  int
	requests []string
}

func newListed(lists map[string]string) *listed {
	return &listed{lists: lists, refused: map[string]bool{}, end: make(chan struct{})}
}

// awaitRequest waits until the path was asked for.
func (l *listed) awaitRequest(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		found := false
		l.set(func() { found = slices.Contains(l.requests, path) })
		if found {
			return
		}
	}
	t.Fatalf("nothing has asked for %s", path)
}

func (l *listed) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *listed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	l.mu.Lock()
	l.requests = append(l.requests, r.URL.Path)
	end := l.end
	items, ok := l.lists[r.URL.Path]
	refused := l.refused[r.URL.Path]
	if query.Get("watch") == "true" && query.Get("sendInitialEvents") == "" {
		l.watches++
	}
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case refused:
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"not for you"}`))
	case !ok:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case query.Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity) // as a hub without streamed lists
	case query.Get("watch") == "true":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-end:
		}
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"},
			"items": json.RawMessage("[" + items + "]")})
	}
}

// seen is what a page is shown of the rollouts.
type seen struct {
	Rollouts, Placements []string
	Problem              string
}

// followed returns a function that waits until the rollouts on the hub are as wanted.
func followed(t *testing.T, hub *listed, timeout time.Duration) func(want seen) {
	t.Helper()
	web := httptest.NewServer(hub)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	r, err := newRollouts(&rest.Config{Host: web.URL, Timeout: timeout}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var last seen
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.follow(ctx, func(rollouts []Rollout, groups []PlacementGroups, problem string) {
			now := seen{Problem: problem}
			for _, r := range rollouts {
				now.Rollouts = append(now.Rollouts, r.Kind+" "+r.Name)
			}
			for _, g := range groups {
				now.Placements = append(now.Placements, g.Placement+" "+strings.Join(slices.Sorted(maps.Keys(g.Groups)), ","))
			}
			mu.Lock()
			defer mu.Unlock()
			last = now
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func(want seen) {
		t.Helper()
		diff := "nothing was read"
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			mu.Lock()
			diff = cmp.Diff(want, last)
			mu.Unlock()
			if diff == "" {
				return
			}
		}
		t.Fatalf("rollouts (-want +got):\n%s", diff)
	}
}

const (
	set       = `{"kind":"ConfigMapReplicaSet","apiVersion":"helloworld.open-cluster-management.io/v1alpha1","metadata":{"namespace":"default","name":"settings"},"spec":{"placementRefs":[{"name":"all"}]}}`
	addOn     = `{"kind":"ClusterManagementAddOn","apiVersion":"addon.open-cluster-management.io/v1beta1","metadata":{"name":"helloworld"},"status":{"installProgressions":[{"namespace":"default","name":"canary"}]}}`
	decisions = `{"kind":"PlacementDecision","apiVersion":"cluster.open-cluster-management.io/v1beta1","metadata":{"namespace":"default","name":"all-1","labels":{"cluster.open-cluster-management.io/placement":"all"}},"status":{"decisions":[{"clusterName":"a"}]}},` +
		`{"kind":"PlacementDecision","apiVersion":"cluster.open-cluster-management.io/v1beta1","metadata":{"namespace":"default","name":"canary-1","labels":{"cluster.open-cluster-management.io/placement":"canary"}},"status":{"decisions":[{"clusterName":"b"}]}},` +
		`{"kind":"PlacementDecision","apiVersion":"cluster.open-cluster-management.io/v1beta1","metadata":{"namespace":"other","name":"all-1","labels":{"cluster.open-cluster-management.io/placement":"all"}},"status":{"decisions":[{"clusterName":"c"}]}}`
)

// TestFollow: the groups are those of the Placements of rollouts, and no others of the hub.
func TestFollow(t *testing.T) {
	hub := newListed(map[string]string{setsPath: set, addOnsPath: addOn, decisionsPath: decisions})
	await := followed(t, hub, 0)
	await(seen{Rollouts: []string{"ConfigMapReplicaSet default/settings", "Configuration default/canary"}, Placements: []string{"default/all a", "default/canary b"}})
}

// TestFollowEmpty: a resource that can be read again is no problem any more, although it has no object that tells.
func TestFollowEmpty(t *testing.T) {
	hub := newListed(map[string]string{setsPath: "", addOnsPath: addOn, decisionsPath: ""})
	await := followed(t, hub, 0)
	read := seen{Rollouts: []string{"Configuration default/canary"}}
	await(read)
	refused := seen{Rollouts: read.Rollouts, Problem: "cannot read configmapreplicasets: not for you"}
	hub.set(func() {
		hub.refused[setsPath] = true
		close(hub.end)
		hub.end = make(chan struct{})
	})
	await(refused)
	hub.set(func() { hub.refused[setsPath] = false })
	await(read)
}

// TestFollowServedLater: a resource whose CRD is installed after the start is read, in the version that the hub serves.
func TestFollowServedLater(t *testing.T) {
	hub := newListed(map[string]string{addOnsPath: "", decisionsPath: ""})
	await := followed(t, hub, 0)
	hub.awaitRequest(t, setsPath)
	hub.set(func() { hub.lists[setsPath] = set })
	await(seen{Rollouts: []string{"ConfigMapReplicaSet default/settings"}})

	hub = newListed(map[string]string{newAddOnsPath: addOn, decisionsPath: ""})
	await = followed(t, hub, 0)
	await(seen{Rollouts: []string{"Configuration default/canary"}})
}

// TestFollowTimeout: --request-timeout limits a list, and cuts off no watch.
func TestFollowTimeout(t *testing.T) {
	hub := newListed(map[string]string{setsPath: set, addOnsPath: "", decisionsPath: ""})
	const timeout = 300 * time.Millisecond
	await := followed(t, hub, timeout)
	await(seen{Rollouts: []string{"ConfigMapReplicaSet default/settings"}})
	time.Sleep(5 * timeout) // nothing tells that no watch ends
	hub.set(func() {
		if hub.watches != 3 {
			t.Errorf("there were %d watches after %v, want one for each resource", hub.watches, 5*timeout)
		}
	})
}

package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
)

// screen is an output that a test reads while the command writes.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the output has the text, and returns all of it.
func (s *screen) await(t *testing.T, text string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if all := s.String(); strings.Contains(all, text) {
			return all
		}
	}
	t.Fatalf("no %q in %q", text, s.String())
	return ""
}

// watchFleet runs the command with --watch. end interrupts it and returns its error.
func watchFleet(t *testing.T, f *fakeHub, o Options) (out, errOut *screen, end func() error) {
	t.Helper()
	h := f.serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out, errOut = &screen{}, &screen{}
	o.Watch = true
	done := make(chan error, 1)
	go func() {
		done <- show(ctx, o, h, clock.RealClock{}, genericiooptions.IOStreams{Out: out, ErrOut: errOut})
	}()
	return out, errOut, func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Minute):
			t.Fatal("the command does not end")
			return nil
		}
	}
}

// versioned gives an object of an event a resource version.
func versioned[T metav1.Object](object T, version string) T {
	object.SetResourceVersion(version)
	return object
}

// TestWatch: only what changes is printed again, until the command is interrupted.
func TestWatch(t *testing.T) {
	f := newFleet(t)
	out, errOut, end := watchFleet(t, f, Options{})
	before := out.await(t, "ConfigMaps synced.\n")

	// The header is not printed again. Both objects that changed give one row, or two on a slow machine.
	f.send(t, mirrorsPath, "MODIFIED", versioned(mirror("cluster2", 12, 12), "101"))
	f.send(t, addOnsPath, "MODIFIED", versioned(addOn("cluster2", isAvailable, isSynced), "102"))
	after := out.await(t, "cluster2   Synced ")[len(before):]
	if rows := strings.Count(after, "\n"); rows > 2 || strings.Count(after, "cluster2") != rows || !strings.Contains(after, "12/12") {
		t.Errorf("got %q, want one or two rows", after)
	}
	if last := after[strings.LastIndex(after, "cluster2"):]; strings.Index(last, "Synced") != strings.Index(before, "STATE") {
		t.Errorf("the rows are not aligned:\n%s%s", before, after)
	}

	// An agent of a version without a report.
	f.send(t, mirrorsPath, "MODIFIED", json.RawMessage(`{"metadata":{"name":"helloworld","namespace":"cluster2","resourceVersion":"103"}}`))
	before += after
	after = out.await(t, after+"cluster2")[len(before):]
	if !strings.Contains(after, " 3/3 ") {
		t.Errorf("the condition's numbers are not used: %q", after)
	}

	// A change that no column shows, and one of no object.
	f.send(t, clustersPath, "BOOKMARK", json.RawMessage(`{"metadata":{"resourceVersion":"103"}}`))
	f.send(t, clustersPath, "MODIFIED", versioned(managed("cluster1", map[string]string{"region": "mars"}), "103"))
	f.send(t, clustersPath, "ADDED", versioned(managed("cluster7", nil), "104"))
	after = out.await(t, "cluster7")[len(before)+len(after):]
	if strings.Count(after, "\n") != 1 {
		t.Errorf("more is printed than what has changed: %q", after)
	}
	f.send(t, clustersPath, "DELETED", versioned(managed("cluster7", nil), "105"))
	out.await(t, "Gone")
	if err := end(); err != nil || errOut.String() != "" {
		t.Errorf("got error %v and %q", err, errOut.String())
	}
}

// TestWatchKeeps: an error does not hide which clusters and add-ons there are.
func TestWatchKeeps(t *testing.T) {
	f := newFleet(t)
	out, errOut, end := watchFleet(t, f, Options{})
	before := out.await(t, "ConfigMaps synced.\n")
	for _, path := range []string{clustersPath, addOnsPath} {
		f.send(t, path, "ERROR", metav1.Status{Code: http.StatusInternalServerError, Message: "etcd is away"})
	}
	errOut.await(t, "cannot read ManagedClusters,")
	errOut.await(t, "cannot read ManagedClusterAddOns,")
	f.send(t, mirrorsPath, "MODIFIED", versioned(mirror("cluster1", 4, 4), "151"))
	if after := out.await(t, "4/4")[len(before):]; strings.Count(after, "\n") != 1 {
		t.Errorf("got %q, want one row", after)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestStale: what was read before an error stays in the report, and what could never be read is not there.
func TestStale(t *testing.T) {
	found := &findings{}
	found.results[works].err = errors.New("forbidden")
	change{resource: mirrors, all: &result{entries: map[string]entry{}}}.apply(found)
	change{resource: mirrors, all: &result{err: errors.New("etcd is away")}}.apply(found)
	want := []report.NotRead{{Resource: "ConfigMapMirrors", Error: "etcd is away", Stale: true}, {Resource: "ManifestWorks", Error: "forbidden"}}
	if diff := cmp.Diff(want, found.notRead()); diff != "" {
		t.Errorf("not read (-want +got):\n%s", diff)
	}
}

// TestWatchGoesOn: a watch that ends goes on where it was, one whose version has expired lists again, and an
// error is told once and does not end it.
func TestWatchGoesOn(t *testing.T) {
	f := newFleet(t)
	out, errOut, end := watchFleet(t, f, Options{})
	out.await(t, "ConfigMaps synced.\n")
	f.send(t, mirrorsPath, "BOOKMARK", map[string]any{"metadata": map[string]any{"resourceVersion": "150"}})
	f.send(t, mirrorsPath, "", nil)
	f.send(t, mirrorsPath, "MODIFIED", versioned(mirror("cluster1", 4, 4), "151"))
	out.await(t, "4/4")
	if !strings.Contains(strings.Join(f.paths(), "\n"), "resourceVersion=150") {
		t.Errorf("the watch did not go on after the bookmark: %v", f.paths())
	}

	f.mu.Lock()
	f.objects[mirrorsPath][0] = mirror("cluster1", 5, 5)
	f.mu.Unlock()
	f.send(t, mirrorsPath, "ERROR", metav1.Status{Code: http.StatusGone, Message: "too old resource version"})
	out.await(t, "5/5")

	f.send(t, worksPath, "ERROR", metav1.Status{Code: http.StatusInternalServerError, Message: "etcd is away"})
	errOut.await(t, "warning: cannot read ManifestWorks, so AGENT is not known: etcd is away\n")
	f.send(t, worksPath, "MODIFIED", versioned(work(t, "cluster4", "x:v9", true), "160"))
	// What was known before the error stays.
	if rows := strings.Count(out.await(t, "v9"), "\ncluster3 "); rows != 1 {
		t.Errorf("cluster3, which has not changed, is printed %d times", rows)
	}
	if err := end(); err != nil || strings.Count(errOut.String(), "\n") != 1 {
		t.Errorf("got error %v and %q", err, errOut.String())
	}
}

// recordingClock records how long its timers are asked to wait, and does not wait. Each look at it is later by step.
type recordingClock struct {
	clock.RealClock
	step  time.Duration
	waits chan time.Duration

	mu  sync.Mutex
	now time.Time
}

func (c *recordingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}

func (c *recordingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *recordingClock) NewTimer(d time.Duration) clock.Timer {
	c.waits <- d
	return c.RealClock.NewTimer(0)
}

// TestKeepPauses: what fails again and again, a list as well as a watch, is tried more and more rarely. A watch that the API server
// ends after its time is begun again at once, and one that ends at once is not.
func TestKeepPauses(t *testing.T) {
	end := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			http.Error(w, "a list is not needed", http.StatusTeapot)
		}
	}
	refused := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away")(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"1"},"items":[]}`))
	}
	more := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute}
	for _, test := range []struct {
		name    string
		answer  http.HandlerFunc
		version string
		step    time.Duration // between the beginning and the end of a watch
		want    []time.Duration
	}{
		{"lists fail", forbidden("manifestworks"), "", 0, more},
		{"the hub does not serve the resource", notServed, "", 0, more},
		{"watches fail, after lists that do not", refused, "", 0, more},
		{"watches end at once", end, "1", time.Second, []time.Duration{retryDelay, retryDelay, retryDelay}},
		{"watches end after their time", end, "1", watchTimeout, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeHub()
			f.refuse[worksPath] = test.answer
			h := f.serve(t)
			ctx, cancel := context.WithCancel(t.Context())
			c, changes, done := &recordingClock{step: test.step, waits: make(chan time.Duration)}, make(chan change), make(chan struct{})
			go func() {
				defer close(done)
				h.keep(ctx, c, works, resourcesFor("")[works], result{path: worksPath, version: test.version}, changes)
			}()
			var got []time.Duration
			for requests := 0; len(got) < len(test.want) || test.want == nil && requests < 3; {
				select {
				case d := <-c.waits:
					if got = append(got, d); test.want == nil {
						t.Fatalf("it waits %v", d)
					}
				case <-changes:
				case <-time.After(10 * time.Millisecond):
					requests = len(f.paths())
				}
			}
			cancel()
			for ended := false; !ended; {
				select {
				case <-c.waits:
				case <-changes:
				case <-done:
					ended = true
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWatchDocuments: each change is a YAML document with the clusters that changed.
func TestWatchDocuments(t *testing.T) {
	f := newFleet(t)
	out, _, end := watchFleet(t, f, Options{Output: "yaml"})
	out.await(t, "kind: FleetStatus")
	f.send(t, mirrorsPath, "MODIFIED", versioned(mirror("cluster2", 13, 13), "101"))
	parts := strings.Split(out.await(t, "total: 13"), "---\n")
	if len(parts) != 2 || !strings.Contains(parts[1], "name: cluster2") || strings.Contains(parts[1], "name: cluster1") ||
		!strings.Contains(parts[1], "  clusters: 6\n") {
		t.Errorf("got %q", parts)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestWatchForbidden: what may not be read is told once, however often it is tried again.
func TestWatchForbidden(t *testing.T) {
	f := newFleet(t)
	f.refuse[worksPath] = forbidden("manifestworks")
	out, errOut, end := watchFleet(t, f, Options{})
	f.send(t, mirrorsPath, "MODIFIED", versioned(mirror("cluster2", 13, 13), "101"))
	out.await(t, "13/13")
	if err := end(); err != nil || strings.Count(errOut.String(), "warning: cannot read ManifestWorks") != 1 {
		t.Errorf("got error %v and %q", err, errOut.String())
	}
}

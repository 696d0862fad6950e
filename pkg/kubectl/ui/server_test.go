package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor"
)

// testServer serves a server without a hub.
func testServer(t *testing.T) (*server, *clocktesting.FakeClock, string) {
	t.Helper()
	clock := clocktesting.NewFakeClock(noon.Time)
	s := newServer(genericclioptions.NewTestConfigFlags(), clock)
	handler, err := s.handler()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return s, clock, web.URL
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestUpdates: a page gets everything first, then what changes, and an event when nothing does. Its script sees no comment.
func TestUpdates(t *testing.T) {
	s, clock, url := testServer(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/updates", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type is %q", got)
	}
	lines := bufio.NewScanner(response.Body)
	next := func() string {
		t.Helper()
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		t.Fatalf("the updates end: %v", lines.Err())
		return ""
	}
	update := func() (u Update) {
		t.Helper()
		line := next()
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &u); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return u
	}
	alive := func(when string) {
		t.Helper()
		if event, data := next(), next(); event != "event: alive" || data != "data: {}" {
			t.Errorf("%s: %q, %q, want an event with data", when, event, data)
		}
	}
	alive("in the beginning")
	row := report.Row{Name: "a", State: report.Synced, Well: true, Message: "two\nlines"}
	s.board.change(func(now *state) { *now = fleetOf(nil, row) })
	if u := update(); !u.Whole || len(u.Clusters) != 1 || u.Clusters[0].Message != row.Message {
		t.Errorf("first update: %+v", u)
	}
	clock.Step(aliveEvery)
	alive("without news")
	s.board.change(func(now *state) { *now = fleetOf(nil) })
	if u := update(); u.Whole || len(u.Gone) != 1 {
		t.Errorf("second update: %+v", u)
	}
}

func TestSelected(t *testing.T) {
	s, _, url := testServer(t)
	s.board.change(func(now *state) {
		*now = fleetOf(map[string]map[string]string{"a": {"region": "eu"}, "b": {"region": "us"}, "c": nil})
	})
	for _, test := range []struct {
		name, selector string
		code           int
		want           string
	}{
		{"one value", "region%3Deu", http.StatusOK, `["a"]`},
		{"several values, and the order of names", "region+in+(us,eu)", http.StatusOK, `["a","b"]`},
		{"the label is missing", "!region", http.StatusOK, `["c"]`},
		{"none", "region%3Dasia", http.StatusOK, `[]`},
		{"not a selector", "region+in+eu", http.StatusBadRequest, "found 'eu' expected: '('"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if code, body := get(t, url+"/select?selector="+test.selector); code != test.code || !strings.Contains(body, test.want) {
				t.Errorf("got %d %s, want %d %s", code, body, test.code, test.want)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	s, _, url := testServer(t)
	s.board.change(func(now *state) { *now = fleetOf(nil, report.Row{Name: "a"}, report.Row{Name: "lost"}) })
	var asked []string
	s.examine = func(_ context.Context, cluster string, now time.Time) (*doctor.Examination, error) {
		asked = append(asked, cluster)
		if cluster == "lost" {
			return nil, errors.New("ask about cluster lost: the hub does not answer")
		}
		if !now.Equal(noon.Time) {
			t.Errorf("it is judged at %v", now)
		}
		return &doctor.Examination{Events: []doctor.Event{{Message: "it happened"}}}, nil
	}
	for _, test := range []struct {
		name, cluster string
		code          int
		want          string
	}{
		{"a cluster", "a", http.StatusOK, "it happened"},
		{"a name that the hub has not: no request is made for it", "..%2fkube-system", http.StatusNotFound, `the hub has no cluster "../kube-system"`},
		{"no name", "", http.StatusNotFound, `the hub has no cluster ""`},
		{"the hub is away", "lost", http.StatusBadGateway, "the hub does not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if code, body := get(t, url+"/cluster?name="+test.cluster); code != test.code || !strings.Contains(body, test.want) {
				t.Errorf("got %d %s, want %d %s", code, body, test.code, test.want)
			}
		})
	}
	if diff := cmp.Diff([]string{"a", "lost"}, asked); diff != "" {
		t.Errorf("examined (-want +got):\n%s", diff)
	}
}

// TestMostExaminations: a page that opens every panel does not flood the hub.
func TestMostExaminations(t *testing.T) {
	s, _, url := testServer(t)
	s.board.change(func(now *state) { *now = fleetOf(nil, report.Row{Name: "a"}) })
	var now, most atomic.Int32
	enough := make(chan struct{}, 20)
	s.examine = func(context.Context, string, time.Time) (*doctor.Examination, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		enough <- struct{}{}
		time.Sleep(20 * time.Millisecond)
		return &doctor.Examination{}, nil
	}
	done := make(chan int)
	for range 20 {
		go func() {
			code, _ := get(t, url+"/cluster?name=a")
			done <- code
		}()
	}
	for range 20 {
		if code := <-done; code != http.StatusOK {
			t.Errorf("got %d", code)
		}
	}
	if got := most.Load(); got != mostExaminations {
		t.Errorf("%d clusters were examined at a time, want %d", got, mostExaminations)
	}
}

// TestNoSlot: a question that waits too long for others is answered, and one that is given up frees its place.
func TestNoSlot(t *testing.T) {
	s, clock, url := testServer(t)
	s.board.change(func(now *state) { *now = fleetOf(nil, report.Row{Name: "a"}) })
	ended := make(chan error, mostExaminations)
	s.examine = func(ctx context.Context, _ string, _ time.Time) (*doctor.Examination, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for range mostExaminations {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/cluster?name=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
			}
		}()
	}
	for len(s.examining) < mostExaminations || clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	answered := make(chan int)
	go func() {
		code, _ := get(t, url+"/cluster?name=a")
		answered <- code
	}()
	for !clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clock.Step(slotTimeout)
	if code := <-answered; code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want %d", code, http.StatusServiceUnavailable)
	}
	giveUp()
	for range mostExaminations {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a question that was given up ended by %v", err)
		}
	}
}

// hanging serves a page whose hub does not answer, until ctx ends, and returns what serve does.
func hanging(ctx context.Context, t *testing.T, out io.Writer) error {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hub := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hub.Close()
	ended := make(chan error, 1)
	go func() {
		s := newServer(genericclioptions.NewTestConfigFlags(), clocktesting.NewFakeClock(noon.Time))
		ended <- serve(ctx, listener, s, &rest.Config{Host: hub.URL}, out)
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return nil
	}
}

// written cancels a context when something is written, or fails.
type written struct {
	cancel context.CancelFunc
	err    error
}

func (w written) Write(p []byte) (int, error) {
	w.cancel()
	return len(p), w.err
}

// TestServeInterrupted: Ctrl-C is no failure, even before the hub was read.
func TestServeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := hanging(ctx, t, written{cancel, nil}); err != nil {
		t.Errorf("got %v after an interrupt", err)
	}
}

// TestServeWithoutOutput: a URL that nobody sees is a reason to end.
func TestServeWithoutOutput(t *testing.T) {
	if err := hanging(t.Context(), t, written{func() {}, io.ErrClosedPipe}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}

// TestServeEndsWithoutHub: a hub that cannot be asked is said, and nothing is left behind.
func TestServeEndsWithoutHub(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hub := httptest.NewServer(http.NotFoundHandler())
	hub.Close()
	s := newServer(genericclioptions.NewTestConfigFlags(), clocktesting.NewFakeClock(noon.Time))
	err = serve(t.Context(), listener, s, &rest.Config{Host: hub.URL}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want that the hub refuses connections", err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String()); err == nil {
		t.Error("the page is still served")
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		port int
		want string
	}{{0, ""}, {65535, ""}, {-1, "--port=-1: want 0 for a free port, or a port up to 65535"}, {65536, "--port=65536: want 0 for a free port, or a port up to 65535"}} {
		got := ""
		if err := (Options{Port: test.port}).Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("port %d: got %q, want %q", test.port, got, test.want)
		}
	}
}

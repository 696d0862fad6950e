package hubclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

// link is a connection to a hub. The hub sends the token of each request to seen,
// and answers one request for each value in release.
type link struct {
	t          *testing.T
	url        string
	clock      *clocktesting.FakeClock
	connection *Connection
	client     http.Client
	seen       chan string
	release    chan struct{}
}

func newLink(t *testing.T) *link {
	t.Helper()
	l := &link{t: t, clock: clocktesting.NewFakeClock(time.Now()), seen: make(chan string, 10), release: make(chan struct{}, 10)}
	hub := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		l.seen <- r.Header.Get("Authorization")
		select {
		case <-l.release:
		case <-r.Context().Done():
		}
	}))
	hub.EnableHTTP2 = true
	hub.StartTLS()
	t.Cleanup(func() {
		hub.CloseClientConnections()
		hub.Close()
	})
	l.url = hub.URL
	connection, err := Open(&credentials.Credentials{
		Endpoint: credentials.Endpoint{Server: hub.URL, Insecure: true}, Login: credentials.Login{Token: "a"}}, &rest.Config{}, l.clock)
	if err != nil {
		t.Fatal(err)
	}
	l.connection = connection
	l.client = http.Client{Transport: connection}
	return l
}

// get sends a request and returns once it has reached the hub with this token.
func (l *link) get(token string) <-chan error {
	l.t.Helper()
	result := make(chan error, 1)
	go func() {
		response, err := l.client.Get(l.url)
		if err == nil {
			err = response.Body.Close()
		}
		result <- err
	}()
	select {
	case got := <-l.seen:
		if got != "Bearer "+token {
			l.t.Errorf("the hub got %q, want token %s", got, token)
		}
	case err := <-result:
		l.t.Fatalf("the request did not reach the hub: %v", err)
	}
	return result
}

func (l *link) rotate(token string) {
	l.t.Helper()
	if err := l.connection.rotate(credentials.Login{Token: token}); err != nil {
		l.t.Fatal(err)
	}
}

// TestRotationReconnects: the next request has the new login. A request under way has
// closeAfter to end. Then the old connection is closed, which does not count as a
// failure of the hub.
func TestRotationReconnects(t *testing.T) {
	l := newLink(t)
	first, second := l.get("a"), l.get("a")
	l.rotate("b")
	next := l.get("b")
	l.clock.Step(closeAfter - time.Nanosecond)
	l.release <- struct{}{}
	l.release <- struct{}{}
	l.release <- struct{}{}
	for _, request := range []<-chan error{first, second, next} {
		if err := <-request; err != nil {
			t.Errorf("a request under way failed at a rotation: %v", err)
		}
	}
	late := l.get("b")
	l.rotate("c")
	next = l.get("c")
	l.clock.Step(closeAfter)
	select {
	case err := <-late:
		if err == nil {
			t.Error("the request on the old connection did not fail")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the old connection is still open")
	}
	if err := l.connection.trouble(); err != nil {
		t.Errorf("the end of the old connection counts as trouble of the hub: %v", err)
	}
	close(l.release)
	if err := <-next; err != nil {
		t.Errorf("the end of the old connection ended a request on the new one: %v", err)
	}
}

func TestClosedConnection(t *testing.T) {
	l := newLink(t)
	close(l.release)
	if err := <-l.get("a"); err != nil {
		t.Fatal(err)
	}
	l.connection.Close()
	if response, err := l.client.Get(l.url); err == nil {
		_ = response.Body.Close()
		t.Error("a request passes on a closed connection")
	}
}

// TestLostWatch: a watch whose connection is lost ends like a watch that the API server
// ended, so that informers continue without listing. Other answers are not shortened.
func TestLostWatch(t *testing.T) {
	hub := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	hub.EnableHTTP2 = true
	hub.StartTLS()
	defer hub.Close()
	connection, err := Open(&credentials.Credentials{
		Endpoint: credentials.Endpoint{Server: hub.URL, Insecure: true}}, &rest.Config{}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := http.Client{Transport: connection}
	for query, lost := range map[string]bool{"?watch=true": false, "?watch=1": false, "": true, "?watch=false": true} {
		response, err := client.Get(hub.URL + query)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(content) != "event" || (err != nil) != lost {
			t.Errorf("%q: read %q with error %v, want an error: %t", query, content, err, lost)
		}
	}
}

// TestProxy: the connection uses the kubeconfig's proxy and does not bypass it.
func TestProxy(t *testing.T) {
	hub := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))
	defer hub.Close()
	var asked string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.Host
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()
	hubCredentials := &credentials.Credentials{Endpoint: credentials.Endpoint{Server: hub.URL, Insecure: true, ProxyURL: proxy.URL}}
	connection, err := Open(hubCredentials, &rest.Config{}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := http.Client{Transport: connection, Timeout: 10 * time.Second}
	if response, err := client.Get(hub.URL); err == nil {
		_ = response.Body.Close()
		t.Error("the hub was reached past a proxy that refuses")
	}
	if want := "CONNECT " + strings.TrimPrefix(hub.URL, "https://"); asked != want {
		t.Errorf("the proxy was asked for %q, want %q", asked, want)
	}
	if connection.trouble() == nil {
		t.Error("no trouble is remembered")
	}
}

// TestFailureOf: informers have to back off from every failure.
func TestFailureOf(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	late, stop := context.WithCancelCause(context.Background())
	stop(errors.New("no answer to a watch within 30s"))
	request := func(ctx context.Context, method string) *http.Request {
		r, err := http.NewRequestWithContext(ctx, method, "https://hub", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	running := context.Background()
	tests := []struct {
		name       string
		request    *http.Request
		status     int
		err        error
		conclusive bool
		refused    bool
		want       string
	}{
		{name: "answered", request: request(running, "GET"), status: 200, conclusive: true},
		{name: "forbidden is an answer", request: request(running, "GET"), status: 403, conclusive: true},
		{name: "unknown", request: request(running, "GET"), status: 401, conclusive: true, want: errUnauthorized.Error()},
		{name: "closed, which client-go would try again every second", request: request(running, "GET"), err: io.EOF,
			conclusive: true, refused: true, want: "the connection ended before there was an answer"},
		{name: "reset", request: request(running, "GET"), err: errors.New("read: connection reset by peer"),
			conclusive: true, refused: true, want: "the connection ended before there was an answer"},
		{name: "another cause is named", request: request(running, "GET"), err: errors.New("x509: unknown authority"),
			conclusive: true, refused: true, want: "x509: unknown authority"},
		{name: "too late", request: request(late, "GET"), err: context.Canceled, conclusive: true, refused: true, want: "context canceled"},
		{name: "the caller no longer waits", request: request(ended, "GET"), err: context.Canceled},
		{name: "a write, which informers do not repeat", request: request(running, "PATCH"), err: io.EOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			conclusive, failure := failureOf(test.request, test.status, test.err)
			got := ""
			if failure != nil {
				got = failure.Error()
			}
			if conclusive != test.conclusive || got != test.want || utilnet.IsConnectionRefused(failure) != test.refused {
				t.Errorf("got %q, conclusive %t, refused %t", got, conclusive, utilnet.IsConnectionRefused(failure))
			}
			if failure != nil && utilnet.IsProbableEOF(failure) {
				t.Errorf("client-go takes %q for an end of the connection", got)
			}
		})
	}
}

// TestLostConnectionKeepsItsCause: the sidecar derives its reason from the cause.
func TestLostConnectionKeepsItsCause(t *testing.T) {
	hub := httptest.NewTLSServer(http.NotFoundHandler())
	defer hub.Close()
	connection, err := Open(&credentials.Credentials{Endpoint: credentials.Endpoint{Server: hub.URL}}, &rest.Config{}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := http.Client{Transport: connection}
	response, err := client.Get(hub.URL)
	if err == nil {
		_ = response.Body.Close()
	}
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) || !utilnet.IsConnectionRefused(err) {
		t.Errorf("got %v, want a refused connection because of the certificate", err)
	}
}

package hubclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// TestTokens: a token that changes is in the next request.
func TestTokens(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	hub := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
	}))
	defer hub.Close()
	credentials := &Credentials{Endpoint: Endpoint{Server: hub.URL, Insecure: true}, Login: Login{Token: "a"}}
	connection, err := Open(credentials, &rest.Config{}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: connection, Timeout: 10 * time.Second}
	get := func() error {
		response, err := client.Get(hub.URL)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if err := connection.rotate(Login{Token: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(seen, ","); got != "Bearer a,Bearer b" {
		t.Errorf("the hub saw %s", got)
	}
	connection.Close()
	if err := get(); err == nil {
		t.Error("a request passes on a closed connection")
	}
}

// TestProxy: the hub is reached through the kubeconfig's proxy, and through no
// other way.
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
	credentials := &Credentials{Endpoint: Endpoint{Server: hub.URL, Insecure: true, ProxyURL: proxy.URL}}
	connection, err := Open(credentials, &rest.Config{}, clock.RealClock{})
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

// TestWhatAFailureTells: see failureOf.
func TestWhatAFailureTells(t *testing.T) {
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
	answer := func(code int) *http.Response { return &http.Response{StatusCode: code} }
	tests := []struct {
		name     string
		request  *http.Request
		response *http.Response
		err      error
		tells    bool
		refused  bool
		want     string
	}{
		{name: "answered", request: request(running, "GET"), response: answer(200), tells: true},
		{name: "forbidden is an answer", request: request(running, "GET"), response: answer(403), tells: true},
		{name: "unknown", request: request(running, "GET"), response: answer(401), tells: true, want: errUnauthorized.Error()},
		{name: "closed, which client-go would try again every second", request: request(running, "GET"), err: io.EOF,
			tells: true, refused: true, want: "the connection ended before there was an answer"},
		{name: "reset", request: request(running, "GET"), err: errors.New("read: connection reset by peer"),
			tells: true, refused: true, want: "the connection ended before there was an answer"},
		{name: "another cause is named", request: request(running, "GET"), err: errors.New("x509: unknown authority"),
			tells: true, refused: true, want: "x509: unknown authority"},
		{name: "too late", request: request(late, "GET"), err: context.Canceled, tells: true, refused: true, want: "context canceled"},
		{name: "nobody waits any more", request: request(ended, "GET"), err: context.Canceled},
		{name: "a write, which nobody may repeat", request: request(running, "PATCH"), err: io.EOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			failure, tells := failureOf(test.request, test.response, test.err)
			got := ""
			if failure != nil {
				got = failure.Error()
			}
			if tells != test.tells || got != test.want || utilnet.IsConnectionRefused(failure) != test.refused {
				t.Errorf("got %q, tells %t, refused %t", got, tells, utilnet.IsConnectionRefused(failure))
			}
			if failure != nil && utilnet.IsProbableEOF(failure) {
				t.Errorf("client-go takes %q for an end of the connection", got)
			}
		})
	}
}

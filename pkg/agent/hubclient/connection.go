package hubclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
)

const (
	// The timeouts of client-go's own transport. See
	// https://github.com/kubernetes/client-go/blob/v0.35.4/transport/cache.go
	dialTimeout      = 30 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second

	// closeAfter is the time from a rotation until the old connection is closed.
	// It lets requests end. It is more than the second in which client-go takes a
	// watch that ended without an event for a failure and lists everything again
	// (VeryShortWatchError in
	// https://github.com/kubernetes/client-go/blob/v0.35.4/tools/cache/reflector.go).
	closeAfter = 2 * time.Second
)

// Connection sends requests to one endpoint, with the login of the last rotation.
// It owns its transports, because client-go's cache never drops one.
type Connection struct {
	config   *rest.Config
	endpoint credentials.Endpoint
	clock    clock.WithDelayedExecution
	// current is nil once the connection is closed.
	current atomic.Pointer[transport]
	// failure is why the last read got no answer, or nil.
	failure atomic.Pointer[error]
}

// Open returns a connection, which the caller has to close. It sends no request.
// Base has the user agent and the rate limit of the clients.
func Open(login *credentials.Credentials, base *rest.Config, clock clock.WithDelayedExecution) (*Connection, error) {
	c := &Connection{endpoint: login.Endpoint, clock: clock}
	first, err := newTransport(c.endpoint, login.Login)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub %s: %w", c.endpoint.Server, err)
	}
	c.current.Store(first)
	c.config = rest.AnonymousClientConfig(base)
	c.config.Host = c.endpoint.Server
	c.config.TLSClientConfig = rest.TLSClientConfig{}
	c.config.Transport = c
	return c, nil
}

// Config returns the configuration for clients of this connection.
func (c *Connection) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// Close makes further requests fail. Those under way have closeAfter to end.
func (c *Connection) Close() { c.replace(nil) }

// rotate makes further requests use another login on a new connection.
func (c *Connection) rotate(login credentials.Login) error {
	next, err := newTransport(c.endpoint, login)
	if err != nil {
		return fmt.Errorf("reconnect to the hub %s: %w", c.endpoint.Server, err)
	}
	c.replace(next)
	return nil
}

func (c *Connection) replace(next *transport) {
	if old := c.current.Swap(next); old != nil {
		old.http.CloseIdleConnections()
		c.clock.AfterFunc(closeAfter, old.close)
	}
}

var errClosed = errors.New("the connection to the hub is closed")

// RoundTrip implements http.RoundTripper.
func (c *Connection) RoundTrip(request *http.Request) (*http.Response, error) {
	t := c.current.Load()
	if t == nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errClosed
	}
	response, err := t.roundTrip(request)
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	if conclusive, failure := failureOf(request, status, err); conclusive {
		if err != nil {
			err = failure
		}
		// The end of an old connection is no failure of the present one.
		if c.current.Load() == t {
			c.note(failure)
		}
	}
	return response, err
}

// note records why the last read got no answer, nil if it got one.
func (c *Connection) note(failure error) {
	if failure == nil {
		c.failure.Store(nil)
		return
	}
	c.failure.Store(&failure)
}

// trouble returns why the last read got no answer, or nil. It is nil before the
// first request.
func (c *Connection) trouble() error {
	if failure := c.failure.Load(); failure != nil {
		return fmt.Errorf("hub %s: %w", c.endpoint.Server, *failure)
	}
	return nil
}

// transport sends requests with one login.
type transport struct {
	http   *http.Transport
	dialer *connrotation.Dialer
	token  string
}

func newTransport(endpoint credentials.Endpoint, login credentials.Login) (*transport, error) {
	proxy := http.ProxyFromEnvironment
	if endpoint.ProxyURL != "" {
		proxyURL, err := url.Parse(endpoint.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("parse proxy-url: %w", err)
		}
		proxy = http.ProxyURL(proxyURL)
	}
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext)
	// SetTransportDefaults enables HTTP/2, whose pings detect a dead connection
	// within 45 s.
	return &transport{token: login.Token, dialer: dialer, http: utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: handshakeTimeout,
		TLSClientConfig:     tlsConfig(endpoint, login),
		DialContext:         dialer.DialContext,
	})}, nil
}

func tlsConfig(endpoint credentials.Endpoint, login credentials.Login) *tls.Config {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         endpoint.ServerName,
		InsecureSkipVerify: endpoint.Insecure,
	}
	if login.Certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return login.Certificate, nil
		}
	}
	if len(endpoint.CAData) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(endpoint.CAData)
	}
	return config
}

func (t *transport) roundTrip(request *http.Request) (*http.Response, error) {
	if t.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := t.http.RoundTrip(request)
	if err != nil {
		// An idle connection may be dead, and would fail the next requests too
		// until a ping detects it.
		t.http.CloseIdleConnections()
		return nil, err
	}
	if watch := request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		response.Body = watchBody{response.Body}
	}
	return response, nil
}

// watchBody ends like a watch that the API server ended, however the connection is
// lost. client-go's informers then continue from the resource version that they know.
// After some errors, for example of an HTTP/2 stream that a proxy reset or a ping that
// got no answer, they would list everything, and many deletions in between would be
// held (docs/design.md#rule-10-removals).
type watchBody struct{ io.ReadCloser }

func (b watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// close closes every socket, also those with requests under way.
func (t *transport) close() {
	t.http.CloseIdleConnections()
	t.dialer.CloseAll()
}

// lostError is for a read that got no answer. client-go's informers treat it as a
// refused connection, whatever the cause: they back off with jitter and continue
// from the resource version that they know. They would retry an unexpected EOF
// every second for ever, and after other errors they would list everything. See
// isWatchErrorRetriable in
// https://github.com/kubernetes/client-go/blob/v0.35.4/tools/cache/reflector.go
// and Request.Watch in
// https://github.com/kubernetes/client-go/blob/v0.35.4/rest/request.go
type lostError struct {
	text  string
	cause error
}

func lost(err error) error {
	if utilnet.IsProbableEOF(err) {
		// client-go recognizes these by their text, too.
		return &lostError{text: "the connection ended before there was an answer", cause: err}
	}
	return &lostError{text: credentials.OneLine(err), cause: err}
}

func (e *lostError) Error() string { return e.text }

// Unwrap returns a refused connection and the cause.
func (e *lostError) Unwrap() []error { return []error{syscall.ECONNREFUSED, e.cause} }

// errUnauthorized is the failure for the answer 401.
var errUnauthorized = apierrors.NewUnauthorized("the hub does not know the credentials")

// failureOf returns what a request shows about the connection. Conclusive is false
// if it shows nothing. Failure is why the hub did not answer, or nil if it did.
// Only reads are conclusive: informers repeat them until there is an answer, so
// that no failure is remembered for longer than it lasts.
func failureOf(request *http.Request, status int, err error) (conclusive bool, failure error) {
	switch {
	case request.Method != http.MethodGet:
		return false, nil
	case errors.Is(context.Cause(request.Context()), context.Canceled):
		// The caller no longer waits for the answer.
		return false, nil
	case err != nil:
		return true, lost(err)
	case status == http.StatusUnauthorized:
		return true, errUnauthorized
	default:
		return true, nil
	}
}

package hubclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/clock"
)

// Timeouts of a connection, the ones of client-go's own transport.
const (
	dialTimeout      = 30 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second
)

// minWatch is how long a watch lasts at least. client-go takes one that ends
// within a second and had no event for a failure: it lists everything again, and
// waits longer and longer before it does (k8s.io/client-go/tools/cache,
// VeryShortWatchError).
const minWatch = 1200 * time.Millisecond

// transport is a connection under one login.
type transport struct {
	http   *http.Transport
	dialer *connrotation.Dialer
	token  string
	clock  clock.WithDelayedExecution

	// inFlight counts the requests; it belongs to the Connection.
	inFlight int

	mu sync.Mutex
	// ending says that watches have to end.
	ending  bool
	watches map[*body]struct{}
}

func newTransport(endpoint Endpoint, login Login, clock clock.WithDelayedExecution) (*transport, error) {
	proxy := http.ProxyFromEnvironment
	if endpoint.ProxyURL != "" {
		proxyURL, err := url.Parse(endpoint.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("parse proxy-url: %w", err)
		}
		proxy = http.ProxyURL(proxyURL)
	}
	t := &transport{token: login.Token, clock: clock, watches: map[*body]struct{}{},
		dialer: connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext)}
	// SetTransportDefaults switches HTTP/2 on, with the pings that find a dead
	// connection within 45 s.
	t.http = utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: handshakeTimeout,
		TLSClientConfig:     tlsConfig(endpoint, login),
		DialContext:         t.dialer.DialContext,
	})
	return t, nil
}

func tlsConfig(endpoint Endpoint, login Login) *tls.Config {
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

// roundTrip calls done once the response is read or thrown away.
func (t *transport) roundTrip(request *http.Request, done func()) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	sent := request.WithContext(ctx)
	if t.token != "" {
		sent = request.Clone(ctx)
		sent.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := t.http.RoundTrip(sent)
	if err != nil {
		cancel()
		done()
		return nil, err
	}
	b := &body{ReadCloser: response.Body, cancel: cancel, watch: isWatch(request)}
	b.done = func() {
		t.forget(b)
		done()
	}
	if b.watch {
		t.remember(b)
	}
	response.Body = b
	return response, nil
}

func isWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// remember notes a watch that has begun, to end it later.
func (t *transport) remember(b *body) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b.since = t.clock.Now()
	t.watches[b] = struct{}{}
	if t.ending {
		b.endAfter(t.clock, minWatch)
	}
}

func (t *transport) forget(b *body) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watches, b)
	if b.timer != nil {
		b.timer.Stop()
	}
}

// endWatches ends all watches, those that follow too, as the API server would.
func (t *transport) endWatches() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ending = true
	for b := range t.watches {
		b.endAfter(t.clock, minWatch-t.clock.Since(b.since))
	}
}

// close ends every socket, whatever is on its way.
func (t *transport) close() {
	t.http.CloseIdleConnections()
	t.dialer.CloseAll()
}

// body is that of a response.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
	once   sync.Once
	done   func()

	// Of a watch; since and timer belong to the transport.
	watch bool
	since time.Time
	timer clock.Timer
}

// Read reads the end of a watch, whatever has brought it about, as a regular
// one: client-go then goes on from where the watch was, and else would list
// everything again.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.watch {
		err = io.EOF
	}
	return n, err
}

// Close frees what the response holds.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	b.once.Do(b.done)
	return err
}

// endAfter ends a watch, at once where wait is not above 0.
func (b *body) endAfter(clock clock.WithDelayedExecution, wait time.Duration) {
	if wait <= 0 {
		b.cancel()
		return
	}
	b.timer = clock.AfterFunc(wait, b.cancel)
}

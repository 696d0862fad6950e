package hubclient

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Connection is a way to one hub, whose client credentials can be exchanged
// while it is in use. It owns its transports: client-go's cache of transports,
// which never forgets one, is not used.
type Connection struct {
	config   *rest.Config
	endpoint Endpoint
	clock    clock.WithDelayedExecution
	// failure is why the last question to the hub got no answer, or nil.
	failure atomic.Pointer[error]

	mu sync.Mutex
	// current is nil once the connection is closed.
	current *transport
	// retired transports still carry requests.
	retired map[*transport]struct{}
}

var errClosed = errors.New("the connection to the hub is closed")

// newConnection makes a connection; nothing is dialled before the first
// request. base gives the user agent and the rate limit.
func newConnection(credentials *Credentials, base *rest.Config, clock clock.WithDelayedExecution) (*Connection, error) {
	c := &Connection{endpoint: credentials.Endpoint, clock: clock, retired: map[*transport]struct{}{}}
	current, err := newTransport(c.endpoint, credentials.Login, clock)
	if err != nil {
		return nil, err
	}
	c.current = current
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

// RoundTrip implements http.RoundTripper with the credentials of now.
func (c *Connection) RoundTrip(request *http.Request) (*http.Response, error) {
	t := c.begin()
	if t == nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errClosed
	}
	response, err := t.roundTrip(request, func() { c.end(t) })
	if failure, tells := failureOf(request, response, err); tells {
		c.note(failure)
		if err != nil {
			err = failure
		}
	}
	return response, err
}

func (c *Connection) begin() *transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		c.current.inFlight++
	}
	return c.current
}

// end is called when a request is over. The last one closes the transport.
func (c *Connection) end(t *transport) {
	c.mu.Lock()
	t.inFlight--
	_, retired := c.retired[t]
	unused := retired && t.inFlight == 0
	if unused {
		delete(c.retired, t)
	}
	c.mu.Unlock()
	if unused {
		t.close()
	}
}

// note remembers whether the hub answers, and knows who asks.
func (c *Connection) note(failure error) {
	if failure == nil {
		c.failure.Store(nil)
		return
	}
	c.failure.Store(&failure)
}

// trouble says why the hub did not answer the last time, or nil. There is none
// before the first request.
func (c *Connection) trouble() error {
	if failure := c.failure.Load(); failure != nil {
		return fmt.Errorf("hub %s: %w", c.endpoint.Server, *failure)
	}
	return nil
}

// rotate uses other credentials from the next request on. Requests that are on
// their way end as they would have. Watches are ended, so that they go on under
// the new credentials from where they were.
func (c *Connection) rotate(login Login) error {
	next, err := newTransport(c.endpoint, login, c.clock)
	if err != nil {
		return err
	}
	c.mu.Lock()
	old := c.current
	if old == nil {
		c.mu.Unlock()
		next.close()
		return errClosed
	}
	c.current = next
	unused := old.inFlight == 0
	if !unused {
		c.retired[old] = struct{}{}
	}
	c.mu.Unlock()
	if unused {
		old.close()
	} else {
		old.endWatches()
	}
	return nil
}

// close ends the connection and all that is still on its way.
func (c *Connection) close() {
	c.mu.Lock()
	all := c.retired
	if c.current != nil {
		all[c.current] = struct{}{}
	}
	c.current, c.retired = nil, map[*transport]struct{}{}
	c.mu.Unlock()
	for t := range all {
		t.close()
	}
}

// Open makes a connection that belongs to the caller, who has to close it.
func Open(credentials *Credentials, base *rest.Config, clock clock.WithDelayedExecution) (*Connection, error) {
	c, err := newConnection(credentials, base, clock)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub %s: %w", credentials.Endpoint.Server, err)
	}
	return c, nil
}

// Close ends a connection that Open made.
func (c *Connection) Close() { c.close() }

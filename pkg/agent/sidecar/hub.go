package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"

	"open-cluster-management.io/helloworld-addon/pkg/agent/kubeclient"
	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
)

// Timeouts of a connection, the ones of client-go's own transport.
const (
	dialTimeout      = 30 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second
)

// connection is a way to the hub with one set of credentials. It owns its
// transport: client-go's cache of transports never forgets one.
type connection struct {
	leases    lease.Client
	transport *http.Transport
}

// connect makes a connection; nothing is dialled before the first request.
func connect(credentials *Credentials, namespace string) (*connection, error) {
	config, err := clientcmd.NewDefaultClientConfig(credentials.Kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig's certificates: %w", err)
	}
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	// SetTransportDefaults switches HTTP/2 on.
	transport := utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r) },
		TLSHandshakeTimeout: handshakeTimeout,
		TLSClientConfig:     tlsConfig,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
	})
	config.TLSClientConfig, config.Proxy, config.Transport = rest.TLSClientConfig{}, nil, transport
	config.UserAgent = userAgent()
	client, err := kubeclient.New(config)
	if err != nil {
		return nil, err
	}
	return &connection{leases: client.Leases(namespace), transport: transport}, nil
}

func userAgent() string { return Program + "/" + version.Get().GitVersion }

// hub is the lease client that goes through whichever connection is the present
// one. Each request takes the connection that there is when it begins, and one
// under way ends on its own.
type hub struct {
	namespace string

	mu         sync.Mutex
	inUse      *Credentials
	connection *connection
}

var errNoCredentials = errors.New("there are no usable credentials for the hub")

// use makes the credentials the ones of all further requests; nil: none. It says
// whether they are others than before.
func (h *hub) use(credentials *Credentials) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if credentials == h.inUse {
		return false, nil
	}
	var next *connection
	if credentials != nil {
		var err error
		if next, err = connect(credentials, h.namespace); err != nil {
			return false, err
		}
	}
	if h.connection != nil {
		h.connection.transport.CloseIdleConnections()
	}
	h.inUse, h.connection = credentials, next
	return true, nil
}

// request does one request. After one that failed the connection is given up:
// one that is dead without anybody having said so would make the next ones fail
// too, for as long as HTTP/2 takes to find out.
func (h *hub) request(do func(lease.Client) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	h.mu.Lock()
	connection := h.connection
	h.mu.Unlock()
	if connection == nil {
		return nil, errNoCredentials
	}
	object, err := do(connection.leases)
	if err != nil && !isStatus(err) {
		connection.transport.CloseIdleConnections()
	}
	return object, err
}

// Get implements lease.Client.
func (h *hub) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Get(ctx, name, options) })
}

// Create implements lease.Client.
func (h *hub) Create(ctx context.Context, object *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Create(ctx, object, options) })
}

// Update implements lease.Client.
func (h *hub) Update(ctx context.Context, object *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return h.request(func(c lease.Client) (*coordinationv1.Lease, error) { return c.Update(ctx, object, options) })
}

// close ends the connection.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.connection != nil {
		h.connection.transport.CloseIdleConnections()
	}
}

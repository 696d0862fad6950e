package klusterlet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/klog/v2"
)

// rotationPeriod is the period with which a connection looks for a new client certificate, as
// client-go does (transport.CertCallbackRefreshDuration).
const rotationPeriod = 5 * time.Minute

// connection is the agents' connection to the hub. It belongs to one start of the agents, and all
// their clients share it. client-go would keep it for the whole process: the restarted agents
// would go on with the connection, and so the certificate, of those before.
type connection struct {
	// config has the server's address, but no credentials: client has them.
	config *rest.Config
	client *http.Client

	transport *http.Transport
	dialer    *connrotation.Dialer
	closed    atomic.Bool

	// load reads the client certificate, used is that of the last handshake.
	load func() (*tls.Certificate, error)
	used atomic.Pointer[tls.Certificate]
}

// errClosed is the error of requests after close.
var errClosed = errors.New("the agents' connection to the hub is closed")

// newConnection returns a connection with the server and the credentials of the kubeconfig.
func newConnection(kubeconfig string) (*connection, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the hub: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("TLS configuration for the hub: %w", err)
	}
	if tlsConfig == nil || tlsConfig.GetClientCertificate == nil {
		return nil, fmt.Errorf("read the kubeconfig of the hub: %s has no client certificate", kubeconfig)
	}
	c := &connection{config: &rest.Config{Host: config.Host, UserAgent: rest.DefaultKubernetesUserAgent()}}
	load := tlsConfig.GetClientCertificate
	c.load = func() (*tls.Certificate, error) { return load(nil) }
	tlsConfig.GetClientCertificate = c.certificate
	c.dialer = connrotation.NewDialer(c.dial)
	c.transport = utilnet.SetTransportDefaults(&http.Transport{
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: 10 * time.Second,
		DialContext:         c.dialer.DialContext,
	})
	wrapped, err := rest.HTTPWrappersForConfig(c.config, c.transport)
	if err != nil {
		return nil, fmt.Errorf("create the client of the hub: %w", err)
	}
	c.client = &http.Client{Transport: wrapped}
	return c, nil
}

func (c *connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.closed.Load() {
		return nil, errClosed
	}
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
}

func (c *connection) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	certificate, err := c.load()
	if err == nil {
		c.used.Store(certificate)
	}
	return certificate, err
}

// watch closes the connection whenever the client certificate's file has a new one, so that the
// next request uses it. It returns when ctx ends.
func (c *connection) watch(ctx context.Context) {
	wait.UntilWithContext(ctx, c.refresh, rotationPeriod)
}

func (c *connection) refresh(ctx context.Context) {
	rotated, err := c.rotated()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read the client certificate for the hub")
	}
	if rotated {
		c.dialer.CloseAll()
	}
}

// rotated reports whether the client certificate's file has another one than the connection uses.
func (c *connection) rotated() (bool, error) {
	used := c.used.Load()
	if used == nil {
		return false, nil
	}
	certificate, err := c.load()
	if err != nil {
		return false, err
	}
	return !bytes.Equal(used.Certificate[0], certificate.Certificate[0]), nil
}

// close ends all requests. Later ones fail.
func (c *connection) close() {
	c.closed.Store(true)
	c.dialer.CloseAll()
	c.transport.CloseIdleConnections()
}

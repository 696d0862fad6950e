package hubclient

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// Connection is a way to one hub, whose client certificate can be exchanged
// while it is in use. It owns its transport: client-go's cache of transports,
// which never forgets one, is not used.
type Connection struct {
	config      *rest.Config
	certificate atomic.Pointer[tls.Certificate]
	dialer      *connrotation.Dialer
	transport   *http.Transport
}

// Timeouts of a connection, the ones of client-go's own transport.
const (
	dialTimeout      = 30 * time.Second
	keepAlive        = 30 * time.Second
	handshakeTimeout = 10 * time.Second
)

// newConnection makes a connection; nothing is dialled before the first
// request. base gives the user agent and the rate limit.
func newConnection(credentials *Credentials, base *rest.Config) (*Connection, error) {
	endpoint := credentials.Endpoint
	c := &Connection{dialer: connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext)}
	c.certificate.Store(&credentials.Certificate)

	tlsConfig := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         endpoint.ServerName,
		InsecureSkipVerify: endpoint.Insecure,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return c.certificate.Load(), nil
		},
	}
	if len(endpoint.CAData) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		tlsConfig.RootCAs.AppendCertsFromPEM(endpoint.CAData)
	}
	proxy := http.ProxyFromEnvironment
	if endpoint.ProxyURL != "" {
		proxyURL, err := url.Parse(endpoint.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("parse proxy-url: %w", err)
		}
		proxy = http.ProxyURL(proxyURL)
	}
	// SetTransportDefaults switches HTTP/2 on, with the pings that find a dead
	// connection within 45 s.
	c.transport = utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: handshakeTimeout,
		TLSClientConfig:     tlsConfig,
		DialContext:         c.dialer.DialContext,
	})
	c.config = rest.AnonymousClientConfig(base)
	c.config.Host = endpoint.Server
	c.config.TLSClientConfig = rest.TLSClientConfig{}
	c.config.Transport = c.transport
	return c, nil
}

// Config returns the configuration for clients of this connection.
func (c *Connection) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

// rotate uses another client certificate from now on. Open connections end, so
// that watches go on under the new certificate, from where they were.
func (c *Connection) rotate(certificate tls.Certificate) {
	c.certificate.Store(&certificate)
	c.dialer.CloseAll()
}

// close ends the connection's sockets. Requests that follow dial again.
func (c *Connection) close() {
	c.transport.CloseIdleConnections()
	c.dialer.CloseAll()
}

// Open makes a connection that belongs to the caller, who has to close it.
func Open(credentials *Credentials, base *rest.Config) (*Connection, error) {
	return newConnection(credentials, base)
}

// Close ends a connection that Open made.
func (c *Connection) Close() { c.close() }

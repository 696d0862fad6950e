package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

const (
	// streamTimeout ends a port-forward that nothing went through for so long,
	// kubelet's default. virtual-kubelet mixes up its two settings for
	// port-forward, so both are set to it.
	streamTimeout = 4 * time.Hour
	// headerTimeout bounds the wait for a request's headers.
	headerTimeout = 10 * time.Second
	// closeTimeout bounds the wait for requests that are being served when the
	// node ends; logs that are followed would go on for ever.
	closeTimeout = time.Second
)

// server serves logs and port-forward to the API server. A caller must have a
// certificate of the cluster's authority, and may do what the API server says
// that it may with the node's proxy subresource, as with kubelet.
type server struct {
	http     *http.Server
	listener net.Listener
}

func newServer(ctx context.Context, p *provider) (*server, error) {
	authorities, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", p.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("read the client CA %s: %w", p.ClientCAFile, err)
	}
	auth, err := nodeutil.WebhookAuth(p.client, p.Name, func(c *nodeutil.WebhookAuthConfig) error {
		c.AuthnConfig.ClientCertificateCAContentProvider = authorities
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("authentication of the node's server: %w", err)
	}
	config := nodeutil.NodeConfig{}
	err = nodeutil.WithTLSConfig(nodeutil.WithKeyPairFromPath(p.CertFile, p.KeyFile), nodeutil.WithCAFromPath(p.ClientCAFile))(&config)
	if err != nil {
		return nil, fmt.Errorf("certificate of the node's server: %w", err)
	}
	address := net.JoinHostPort(p.Address.String(), strconv.Itoa(p.Port))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	handler := nodeutil.WithAuth(auth, api.PodHandler(handlers(p), false))
	return &server{
		listener: tls.NewListener(listener, config.TLSConfig),
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout,
			BaseContext: func(net.Listener) context.Context { return ctx },
		},
	}, nil
}

func handlers(p *provider) api.PodHandlerConfig {
	return api.PodHandlerConfig{
		RunInContainer:    p.RunInContainer,
		AttachToContainer: p.AttachToContainer,
		PortForward:       p.PortForward,
		GetContainerLogs:  p.GetContainerLogs,
		GetPods:           p.GetPods,
		GetPodsFromKubernetes: func(context.Context) ([]*corev1.Pod, error) {
			return p.lister.List(labels.Everything())
		},
		GetStatsSummary:       p.GetStatsSummary,
		GetMetricsResource:    p.GetMetricsResource,
		StreamIdleTimeout:     streamTimeout,
		StreamCreationTimeout: streamTimeout,
	}
}

// serve serves until ctx ends.
func (s *server) serve(ctx context.Context) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if s.http.Shutdown(closing) != nil {
			_ = s.http.Close()
		}
	})
	err := s.http.Serve(s.listener)
	if !stop() {
		<-closed
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve logs: %w", err)
	}
	return nil
}

package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

const (
	// streamTimeout ends an idle exec, attach or port-forward, after kubelet's default.
	// virtual-kubelet mixes up its two settings for port-forward, so both get it.
	streamTimeout = 4 * time.Hour
	// headerTimeout limits the wait for a request's headers.
	headerTimeout = 10 * time.Second
	// closeTimeout limits the wait for open requests when the node ends; a
	// followed log would never end.
	closeTimeout = time.Second
)

// server serves logs, exec, attach and port-forward to the API server. As kubelet does, it
// authenticates callers by certificates of the cluster's CA, and asks the API
// server whether they may access the node's proxy subresource.
type server struct {
	http     *http.Server
	listener net.Listener
	// streams are the requests that have taken over their connections.
	streams sync.WaitGroup
}

func newServer(ctx context.Context, p *provider, node *corev1.Node) (*server, error) {
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
	handler := http.NewServeMux()
	s := &server{listener: tls.NewListener(connections{listener}, config.TLSConfig)}
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: connectionContext, ConnState: closeTakenOver,
	}
	handler.Handle("/", nodeutil.WithAuth(auth, s.routes(p)))
	metrics := metricsAPI{p, node}.handler()
	for _, path := range []string{metricsPath, metricsPath + "/", "/openapi/"} {
		handler.Handle(path, metrics)
	}
	return s, nil
}

// routes returns virtual-kubelet's handlers, and the node's own for exec and attach, because
// virtual-kubelet's do not notice that a client has gone away.
func (s *server) routes(p *provider) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api.PodHandler(handlers(p), false))
	for name, serve := range map[string]http.HandlerFunc{"exec": p.serveExec, "attach": p.serveAttach} {
		handle := func(w http.ResponseWriter, r *http.Request) {
			s.streams.Add(1)
			defer s.streams.Done()
			serve(w, r)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			mux.HandleFunc(method+" /"+name+"/{namespace}/{pod}/{container}", handle)
		}
	}
	return mux
}

func handlers(p *provider) api.PodHandlerConfig {
	return api.PodHandlerConfig{
		PortForward:      p.PortForward,
		GetContainerLogs: p.GetContainerLogs,
		GetPods:          p.GetPods,
		GetPodsFromKubernetes: func(context.Context) ([]*corev1.Pod, error) {
			return p.lister.List(labels.Everything())
		},
		GetStatsSummary:       p.GetStatsSummary,
		GetMetricsResource:    p.GetMetricsResource,
		StreamIdleTimeout:     streamTimeout,
		StreamCreationTimeout: streamTimeout,
	}
}

// serve handles requests until ctx ends.
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
	s.streams.Wait()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve logs: %w", err)
	}
	return nil
}

// GetContainerLogs opens the log of a container's current or previous run. A
// followed log ends with the run.
func (p *provider) GetContainerLogs(ctx context.Context, namespace, podName, name string, opts api.ContainerLogOpts) (io.ReadCloser, error) {
	pod, err := p.podOf(namespace, podName)
	if err != nil {
		return nil, err
	}
	status, err := p.containerStatus(pod, name)
	if err != nil {
		return nil, err
	}
	run := status.RestartCount
	if opts.Previous {
		if run--; run < 0 {
			return nil, errdefs.InvalidInputf("previous terminated container %q in pod %q not found", name, podName)
		}
	}
	reader := logReader{query: queryOf(opts, p.Clock.Now()), clock: p.Clock, ended: func() bool {
		now, err := p.containerStatus(pod, name)
		return err != nil || now.State.Running == nil || now.RestartCount != run
	}}
	out, err := reader.open(ctx, p.logs.file(pod, name, run))
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, os.ErrNotExist) && status.State.Waiting != nil:
		return nil, errdefs.InvalidInputf("container %q in pod %q is waiting to start: %s", name, podName, status.State.Waiting.Reason)
	case errors.Is(err, os.ErrNotExist):
		return nil, errdefs.NotFoundf("the log of run %d of container %q in pod %q has been removed", run, name, podName)
	}
	return nil, err
}

// containerStatus returns a container's status, from the pod's worker if it has
// one, because the API server's may be older.
func (p *provider) containerStatus(pod *corev1.Pod, name string) (corev1.ContainerStatus, error) {
	status := pod.Status
	if w := p.byUID(pod.UID); w != nil {
		status = w.writer.status()
	}
	for _, c := range plan.Statuses(status) {
		if c.Name == name {
			return c, nil
		}
	}
	return corev1.ContainerStatus{}, errdefs.NotFoundf("pod %s/%s has no container %q", pod.Namespace, pod.Name, name)
}

// GetStatsSummary returns a summary with the node's name alone: see metricsAPI.
func (p *provider) GetStatsSummary(context.Context) (*statsv1alpha1.Summary, error) {
	return &statsv1alpha1.Summary{Node: statsv1alpha1.NodeStats{NodeName: p.Name}}, nil
}

// GetMetricsResource returns nothing: see metricsAPI.
func (p *provider) GetMetricsResource(context.Context) ([]*dto.MetricFamily, error) { return nil, nil }

// PortForward connects the stream to a port of the pod's own loopback interface
// until one side closes.
func (p *provider) PortForward(ctx context.Context, namespace, name string, port int32, stream io.ReadWriteCloser) error {
	w := p.byName(namespace, name)
	if w == nil {
		return errdefs.NotFoundf("pod %s/%s does not run on this node", namespace, name)
	}
	network, err := w.podNetwork(ctx)
	if err != nil {
		return err
	}
	conn, err := network.Dial(ctx, uint16(port)) // the API server has checked that it is a port
	if err != nil {
		return fmt.Errorf("connect to port %d of pod %s/%s: %w", port, namespace, name, err)
	}
	ctx, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(ctx, func() {
		_ = conn.Close()
		_ = stream.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(conn, stream)
		closeWrite(conn)
	})
	both.Go(func() {
		_, _ = io.Copy(stream, conn)
		done()
	})
	both.Wait()
	return nil
}

// closeWrite closes the writing half of a connection that supports it.
func closeWrite(conn io.Closer) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

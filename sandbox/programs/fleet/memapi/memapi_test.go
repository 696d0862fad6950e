package memapi

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const testToken = "test-token"

// cluster is a simulated cluster with its clients, in memory or over HTTPS.
type cluster struct {
	api     *API
	server  *Server
	config  *rest.Config
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

// clusters calls test with a cluster for each way to reach one.
func clusters(t *testing.T, o Options, test func(t *testing.T, c *cluster)) {
	t.Helper()
	if o.ReadyAfter == 0 {
		o.ReadyAfter = 10 * time.Millisecond
	}
	for _, way := range []struct {
		name   string
		config func(t *testing.T, s *Server, a *API) *rest.Config
	}{
		{"in memory", func(_ *testing.T, _ *Server, a *API) *rest.Config { return a.Config() }},
		{"by HTTPS", func(t *testing.T, s *Server, a *API) *rest.Config {
			t.Helper()
			return remote(t, s, a.name)
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := NewServer(o)
			a := s.Add(t.Context(), "fleet-0001")
			c := &cluster{api: a, server: s, config: way.config(t, s, a)}
			c.connect(t)
			test(t, c)
		})
	}
}

// connect makes the clients of c.config.
func (c *cluster) connect(t *testing.T) {
	t.Helper()
	var err error
	if c.kube, err = kubernetes.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
}

// remote serves s by HTTPS and HTTP/2 and returns the configuration of clients.
func remote(t *testing.T, s *Server, cluster string) *rest.Config {
	t.Helper()
	web := httptest.NewUnstartedServer(s.Handler(testToken))
	web.EnableHTTP2 = true
	web.StartTLS()
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return &rest.Config{
		Host: web.URL + "/clusters/" + cluster, BearerToken: testToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
}

// eventually waits until condition is nil, and fails with its last error.
func eventually(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

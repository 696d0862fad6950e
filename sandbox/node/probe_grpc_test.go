package node

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestProbeGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, services := grpc.NewServer(), health.NewServer()
	healthpb.RegisterHealthServer(server, services)
	services.SetServingStatus("sick", healthpb.HealthCheckResponse_NOT_SERVING)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	port := func(l net.Listener) int32 { return int32(l.Addr().(*net.TCPAddr).Port) }
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	none := port(closed)
	_ = closed.Close()
	for _, c := range []struct {
		name    string
		port    int32
		service *string
		want    string
	}{
		{"serving", port(listener), nil, ""},
		{"a service that does not serve", port(listener), ptr.To("sick"), `service unhealthy (responded with "NOT_SERVING")`},
		{"an unknown service", port(listener), ptr.To("other"), "unknown service"},
		{"nobody listens", none, nil, "connection refused"},
		{"no answer", port(silent), nil, "DeadlineExceeded"},
		{"no port", 0, nil, `port "0" is neither a number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			probe := &corev1.Probe{TimeoutSeconds: 2, ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: c.port, Service: c.service}}}
			err := probeOnce(ctx, probe, probeTarget{podIP: "127.0.0.1"})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

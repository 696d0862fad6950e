package node

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// probeGRPC asks the pod by gRPC's health protocol, without TLS, as kubelet does:
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md
func probeGRPC(ctx context.Context, action *corev1.GRPCAction, target probeTarget) error {
	address, err := probeAddress("", target, func() (int, error) { return plan.ProbePort(target.container, intstr.FromInt32(action.Port)) })
	if err != nil {
		return err
	}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	client, err := grpc.NewClient("passthrough:///"+address, grpc.WithUserAgent("kube-probe/sandbox"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithDisableServiceConfig())
	if err != nil {
		return fmt.Errorf("create a gRPC client for %s: %w", address, err)
	}
	defer func() { _ = client.Close() }()
	service := ptr.Deref(action.Service, "")
	response, err := healthpb.NewHealthClient(client).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		return fmt.Errorf("gRPC health check of service %q at %s: %w", service, address, err)
	}
	if status := response.GetStatus(); status != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("service unhealthy (responded with %q)", status)
	}
	return nil
}

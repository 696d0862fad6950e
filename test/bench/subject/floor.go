package subject

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/requests"
	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
)

// floorImage is the name that the floor's Deployment uses.
const floorImage = "bench.invalid/floor"

// tokenLife is longer than any run, in seconds.
const tokenLife = 24 * 60 * 60

// floorTimeout bounds each request of the installation.
const floorTimeout = 30 * time.Second

var (
	//go:embed manifests/floor-hub.yaml
	floorHub []byte
	//go:embed manifests/floor-managed.yaml
	floorManaged []byte
)

// FloorSubject is the bare watch; root holds its program as an image would.
func FloorSubject(root string) *Subject {
	return &Subject{
		Name:     report.Floor,
		Image:    floorImage + "=" + root,
		Binary:   filepath.Join(root, "usr/local/bin/floor"),
		Process:  procfs.Program{Name: "floor"},
		HubUsers: []flowcontrolv1.Subject{requests.ServiceAccount(sandbox.Cluster, account)},
		Install: func(ctx context.Context, s *sandbox.Sandbox) error {
			if err := s.Apply(ctx, "hub", floorHub); err != nil {
				return err
			}
			if err := s.Apply(ctx, sandbox.Cluster, floorManaged); err != nil {
				return err
			}
			return giveHubAccess(ctx, s)
		},
	}
}

// giveHubAccess puts a kubeconfig for the hub where the floor's pod waits for it.
func giveHubAccess(ctx context.Context, s *sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, floorTimeout)
	defer cancel()
	life := int64(tokenLife)
	token, err := s.Hub.CoreV1().ServiceAccounts(sandbox.Cluster).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for the floor's token: %w", err)
	}
	kubeconfig, err := s.HubInside(token.Status.Token)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "helloworld-hub-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	if _, err := s.Managed.CoreV1().Secrets(Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the floor's Secret: %w", err)
	}
	return nil
}

// Package hub runs a hub of its own with many managed clusters as objects: etcd,
// kube-apiserver and the conversion webhook of OCM's add-on API, and nothing that
// would work on those objects.
package hub

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
)

// Options configure the hub.
type Options struct {
	// Dir gets everything of the hub.
	Dir string
	// Programs is the sandbox's directory of programs, Deploy the product's.
	Programs, Deploy string
	// Clusters is the number of managed clusters, AddOns that of the add-ons of
	// each.
	Clusters, AddOns int
}

// Hub is a running hub.
type Hub struct {
	Options
	// Kubeconfig is the controller's, as its ServiceAccount; Token may read its
	// metrics.
	Kubeconfig, Token string

	cluster *controlplane.Cluster
	client  kubernetes.Interface
	// requests counts those of the controller.
	requests *flows.Counter
}

// etcdURL is the first port of the first cluster: see package controlplane.
const etcdURL = "http://127.0.0.1:11000"

const serverName = "kube-apiserver"

// idlePrograms would work on the objects, or bind the ports of the conversion webhook.
var idlePrograms = []string{"kube-controller-manager", "kube-scheduler", "registration-controller", "placement-controller", "addon-manager",
	"registration-webhook", "work-webhook"}

const extras = `
apiVersion: v1
kind: Namespace
metadata: {name: open-cluster-management}
---
` + controller.Scraper

// loopback is the network of the webhook server: this process's own.
type loopback struct{}

func (loopback) IP() netip.Addr          { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
func (loopback) Do(f func() error) error { return f() }

// memoryLimit is GOMEMLIMIT of the hub's programs. Without it the API server takes
// twice the memory of its objects, 17 GB at the full size. A small GOGC does that
// too, and then the caches take twice as long, because the API server mostly
// collects garbage.
const memoryLimit = "12GiB"

// With runs a hub with the controller's RBAC while use runs.
func With(ctx context.Context, options Options, use func(context.Context, *Hub) error) error {
	h := &Hub{Options: options}
	if err := os.Setenv("GOMEMLIMIT", memoryLimit); err != nil {
		return err
	}
	dir := filepath.Join(options.Dir, "hub")
	if err := os.MkdirAll(filepath.Join(dir, "programs"), 0o700); err != nil {
		return err
	}
	for _, name := range idlePrograms {
		if err := os.WriteFile(filepath.Join(dir, "programs", name+".stopped"), nil, 0o600); err != nil {
			return err
		}
	}
	var err error
	h.cluster, err = controlplane.New(controlplane.Options{Name: "hub", Dir: dir, Programs: options.Programs, Address: "127.0.0.1"})
	if err != nil {
		return err
	}
	if h.client, err = kubernetes.NewForConfig(h.cluster.Admin); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	loops := make(chan *process.LoopError, 10)
	onLoop := func(err *process.LoopError) { loops <- err }
	group.Go(func() error { return h.cluster.Run(ctx, onLoop) })
	group.Go(func() error {
		select {
		case err := <-loops:
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error {
		defer cancel()
		if err := h.cluster.WaitReady(ctx); err != nil {
			return err
		}
		installed, err := ocm.InstallHub(ctx, ocm.HubOptions{
			Cluster: h.cluster, Manifests: filepath.Join(options.Programs, "ocm-manifests"),
			Attach: func(string) (ocm.Network, error) { return loopback{}, nil },
		})
		if err != nil {
			return err
		}
		group.Go(func() error { return installed.Run(ctx, onLoop) })
		if err := h.deploy(ctx); err != nil {
			return err
		}
		return use(ctx, h)
	})
	return group.Wait()
}

// deploy applies the controller's objects but its Deployment, and makes the
// credentials.
func (h *Hub) deploy(ctx context.Context) error {
	applier, err := apply.New(h.cluster.Admin)
	if err != nil {
		return err
	}
	if err := applier.Apply(ctx, []byte(extras)); err != nil {
		return err
	}
	for _, file := range []string{"base/crds/helloworld.open-cluster-management.io_configmapmirrors.yaml", "base/serviceaccount.yaml", "base/rbac.yaml",
		"clustermanagementaddon.yaml", "example/addondeploymentconfig.yaml"} {
		content, err := os.ReadFile(filepath.Join(h.Deploy, file))
		if err != nil {
			return err
		}
		if err := applier.Apply(ctx, content); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	token, err := h.token(ctx, "helloworld-controller")
	if err != nil {
		return err
	}
	h.Kubeconfig = filepath.Join(h.Dir, "controller.kubeconfig")
	if err := pki.WriteKubeconfig(h.Kubeconfig, h.cluster.Kubeconfig(pki.User{Token: token})); err != nil {
		return err
	}
	h.Token, err = h.token(ctx, "fleet-scraper")
	return err
}

func (h *Hub) token(ctx context.Context, name string) (string, error) {
	seconds := int64(24 * 60 * 60)
	var token string
	err := poll(ctx, time.Minute, func() error {
		answer, err := h.client.CoreV1().ServiceAccounts("open-cluster-management").CreateToken(ctx, name,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
		if err == nil {
			token = answer.Status.Token
		}
		return err
	})
	return token, err
}

// poll calls try until it succeeds, and returns its last error after the limit.
func poll(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not done within %s: %w", limit, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

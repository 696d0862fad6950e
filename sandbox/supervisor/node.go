package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/node"
	"open-cluster-management.io/helloworld-addon/sandbox/services"
	serviceplan "open-cluster-management.io/helloworld-addon/sandbox/services/plan"
	"open-cluster-management.io/helloworld-addon/sandbox/storage"
)

// nodeTimeout limits the wait for a node to be ready.
const nodeTimeout = time.Minute

// startServices makes the cluster's Services and DNS work for its pods. It does not wait for that,
// because pods start later.
func startServices(running context.Context, group *errgroup.Group, c *member) error {
	config, err := c.ClientFor(services.User)
	if err != nil {
		return err
	}
	group.Go(func() error {
		err := services.Run(running, services.Options{Config: config, Network: c.services, DNS: controlplane.DNSAddress})
		if err != nil {
			return fmt.Errorf("services of %s: %w", c.Name, err)
		}
		return nil
	})
	return nil
}

// startNode starts the cluster's Services and its node, and waits until the node is ready.
func (s *supervisor) startNode(starting, running context.Context, group *errgroup.Group, c *member) error {
	if err := startServices(running, group, c); err != nil {
		return err
	}
	options, err := s.nodeOptions(c)
	if err != nil {
		return fmt.Errorf("node of %s: %w", c.Name, err)
	}
	group.Go(func() error {
		if err := node.Run(running, options); err != nil {
			return fmt.Errorf("node of %s: %w", c.Name, err)
		}
		return nil
	})
	if err := waitNodeReady(starting, c, options.Name); err != nil {
		return err
	}
	group.Go(func() error {
		if err := storage.Run(running, c.Admin, volumeDir(c)); err != nil {
			return fmt.Errorf("volumes of %s: %w", c.Name, err)
		}
		return nil
	})
	return startNodeObjects(starting, running, group, c)
}

// volumeDir returns the directory of the cluster's persistent volumes.
func volumeDir(c *member) string { return filepath.Join(c.Dir, "volumes") }

func (s *supervisor) nodeOptions(c *member) (node.Options, error) {
	name := c.Name + "-node"
	config, err := c.ClientFor("system:node:"+name, "system:nodes")
	if err != nil {
		return node.Options{}, err
	}
	serving, err := c.Authority.Serving("node", c.Address, metricsHost)
	if err != nil {
		return node.Options{}, err
	}
	address, err := netip.ParseAddr(c.Address)
	if err != nil {
		return node.Options{}, fmt.Errorf("address of the node: %w", err)
	}
	return node.Options{
		Name: name, Config: config,
		StateDir: filepath.Join(c.Dir, "node"), LogDir: filepath.Join(c.Dir, "pods"),
		HostPaths: s.HostPaths, VolumeDir: volumeDir(c),
		Images: registry{images.In(s.Dir)}, Runtime: runtime{}, Network: bridge{c.bridge},
		Address: address, Port: controlplane.KubeletPort,
		CertFile: serving.CertFile, KeyFile: serving.KeyFile, ClientCAFile: c.Authority.CertFile(),
		APIServer:  netip.AddrPortFrom(address, controlplane.APIPort),
		ClusterDNS: controlplane.DNSAddress, ClusterDomain: serviceplan.Domain,
	}, nil
}

func waitNodeReady(ctx context.Context, c *member, name string) error {
	client, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, nodeTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if last = err; err != nil {
			return false, nil
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the node of %s: %w", c.Name, errors.Join(err, last))
	}
	return nil
}

package sandboxtest

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Cluster is a hub or a managed cluster of a sandbox.
type Cluster struct {
	sandbox *Sandbox
	name    string
	// programs is the name of the cluster that its programs belong to: the hub's for one with HubAs.
	programs string
	config   *rest.Config
	applier  func() (*apply.Applier, error)
}

// members returns the hubs and the managed clusters of a sandbox.
func (s *Sandbox) members(record statedir.Record, hubAs string) (hubs, clusters []*Cluster, err error) {
	for i, name := range record.Clusters {
		cluster, err := s.member(name, name)
		if err != nil {
			return nil, nil, err
		}
		if i < record.Hubs {
			hubs = append(hubs, cluster)
		} else {
			clusters = append(clusters, cluster)
		}
	}
	if len(hubs) == 0 {
		return nil, nil, fmt.Errorf("the record of the sandbox in %s has no hub", s.dir)
	}
	if hubAs != "" {
		self, err := s.member(hubAs, hubs[0].name)
		if err != nil {
			return nil, nil, err
		}
		clusters = append(clusters, self)
	}
	return hubs, clusters, nil
}

// member returns the cluster of this name. programs is the name of its control plane.
func (s *Sandbox) member(name, programs string) (*Cluster, error) {
	file := kubeconfig(s.dir, programs)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %s: %w", file, err)
	}
	config.QPS = -1 // no limit: a test is not one of many clients
	c := &Cluster{sandbox: s, name: name, programs: programs, config: config}
	c.applier = sync.OnceValues(func() (*apply.Applier, error) { return apply.New(c.config) })
	return c, nil
}

func kubeconfig(dir, cluster string) string { return filepath.Join(dir, cluster+".kubeconfig") }

// Name returns the cluster's name: that of its ManagedCluster and of its namespace on the hub, or hub,
// hub2 or hub3.
func (c *Cluster) Name() string { return c.name }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return kubeconfig(c.sandbox.dir, c.programs) }

// Config returns the administrator's client configuration, without a limit of the requests. Each call
// returns a copy that may be changed.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Stop stops a program of the cluster, for example kube-apiserver, registration-agent or work-agent, or
// of a hub addon-webhook. It stays stopped until Start. The error for an unknown program lists all.
func (c *Cluster) Stop(t testing.TB, program string) {
	t.Helper()
	c.sandbox.do(t, "stop", c.programs+"/"+program)
}

// Start starts a stopped program of the cluster.
func (c *Cluster) Start(t testing.TB, program string) {
	t.Helper()
	c.sandbox.do(t, "start", c.programs+"/"+program)
}

// Restart stops and starts a program of the cluster. An agent of OCM then has a new pod.
func (c *Cluster) Restart(t testing.TB, program string) {
	t.Helper()
	c.sandbox.do(t, "restart", c.programs+"/"+program)
}

// Cut cuts a managed cluster off from these hubs, by default from all: no packet passes, as with a broken
// network, and connections stay open. It lasts until Mend.
func (c *Cluster) Cut(t testing.TB, hubs ...string) {
	t.Helper()
	c.link(t, "cut", hubs)
}

// Mend ends what Cut has begun.
func (c *Cluster) Mend(t testing.TB, hubs ...string) {
	t.Helper()
	c.link(t, "mend", hubs)
}

func (c *Cluster) link(t testing.TB, command string, hubs []string) {
	t.Helper()
	if len(hubs) == 0 {
		for _, hub := range c.sandbox.hubs {
			hubs = append(hubs, hub.name)
		}
	}
	for _, hub := range hubs {
		c.sandbox.do(t, command, c.name, hub)
	}
}

// NewCA replaces the serving certificate of a hub's API server by one of another certificate authority.
// Clients that trust only the first authority, such as those of managed clusters, reject the hub from then
// on. Config, Kubeconfig and the hub's own programs trust both. A hub has one further authority, so a
// second call fails.
func (c *Cluster) NewCA(t testing.TB) {
	t.Helper()
	c.sandbox.do(t, "new-ca", c.name)
}

// ExpireBootstrap replaces a managed cluster's bootstrap kubeconfig by one whose client certificate has
// expired. OCM's registration agent restarts. A cluster that has joined stays joined, because it has other
// credentials.
func (c *Cluster) ExpireBootstrap(t testing.TB) {
	t.Helper()
	c.bootstrap(t, "--expired")
}

// RenewBootstrap replaces a managed cluster's bootstrap kubeconfig by a valid one.
func (c *Cluster) RenewBootstrap(t testing.TB) {
	t.Helper()
	c.bootstrap(t)
}

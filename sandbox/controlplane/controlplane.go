// Package controlplane runs the control plane of one cluster of the sandbox:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, as ordinary
// processes in the sandbox's network namespace.
//
// It does not depend on OCM, and provides credentials for a node only.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/sandbox/pki"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// APIPort is the port of every API server; each has an address of its own.
const APIPort = 6443

// relayPort is the first port, on a managed cluster's address, that is relayed to a hub.
const relayPort = 7443

// Address returns the address of the cluster with this index: that of its API server and
// the gateway of its network.
func Address(index int) netip.Addr { return netip.AddrFrom4([4]byte{10, 201, byte(index), 1}) }

// Relay returns the address at which the programs and pods of a managed cluster reach a hub,
// both given by their index. Each cluster has its own link to each hub, which can be cut. With
// moved, it is the hub's second address, which plays the URL of a moved hub.
func Relay(cluster, hub int, moved bool) netip.AddrPort {
	port := relayPort + 2*hub
	if moved {
		port++
	}
	return netip.AddrPortFrom(Address(cluster), uint16(port))
}

// KubeletPort is the port on which a node serves logs to its API server.
const KubeletPort = 10250

// readyTimeout limits the wait for an API server. It takes 3 s on an idle machine with two
// cores, and much longer on a busy one.
const readyTimeout = 3 * time.Minute

// Options configures a control plane.
type Options struct {
	// Name is the cluster's name; contexts and errors use it.
	Name string
	// Dir holds everything of the cluster: certificates, etcd's data, logs.
	Dir string
	// Programs is the directory with the built programs.
	Programs string
	// Index is the number of the cluster in its sandbox. The cluster's fixed ports
	// are derived from it, because all clusters share the loopback interface.
	Index int
	// Address is the cluster's address in the sandbox's network.
	Address string
	// OutsidePort is the port of 127.0.0.1 outside the sandbox's network that is
	// relayed to the API server.
	OutsidePort int
	// Relays are further addresses at which clients reach the API server.
	Relays []string
	// CertificateLife is the life of the client certificates that the cluster signs
	// on request; 0 selects kube-controller-manager's default, a year.
	CertificateLife time.Duration
	// Audit makes the API server log every request, in AuditLog.
	Audit bool
	// Load prepares the cluster for many clients.
	Load Load
}

// Load describes the clients of a hub with a fleet. It is zero for every other cluster.
type Load struct {
	// Clusters is the number of managed clusters of a hub.
	Clusters int
	// QPS is the rate of requests of each controller, with bursts of twice as many; 0 selects Kubernetes' default.
	QPS int
}

// Cluster is a running control plane.
type Cluster struct {
	Options
	// Authority signs the cluster's certificates.
	Authority *pki.Authority
	// Next is an authority that may sign the API server's certificate later. The
	// cluster's own programs trust it from the start.
	Next *pki.Authority
	// Admin is the REST configuration of a member of system:masters.
	Admin *rest.Config

	files files
}

// files holds the paths that several programs use.
type files struct {
	apiServer, kubeletClient, frontProxy pki.Pair
	serviceAccountKey, serviceAccountPub string
	controllerManager, scheduler         string
	trust                                string
}

// ServingName is the name, without extension, of the files of the API server's certificate
// and key in PKIDir.
const ServingName = "kube-apiserver"

// PKIDir returns the directory of the certificates of the cluster in dir.
func PKIDir(dir string) string { return filepath.Join(dir, "pki") }

// NextPKIDir returns the directory of the next authority of the cluster in dir.
func NextPKIDir(dir string) string { return filepath.Join(PKIDir(dir), "next") }

// trust returns the authorities that may sign the API server's certificate, as PEM.
func (c *Cluster) trust() []byte {
	return append(slices.Clone(c.Authority.PEM()), c.Next.PEM()...)
}

// New returns a cluster with its certificates and kubeconfigs. Run starts it.
func New(options Options) (*Cluster, error) {
	authority, err := pki.NewAuthority(PKIDir(options.Dir), options.Name+"-ca")
	if err != nil {
		return nil, fmt.Errorf("certificates of %s: %w", options.Name, err)
	}
	next, err := pki.NewAuthority(NextPKIDir(options.Dir), options.Name+"-next-ca")
	if err != nil {
		return nil, fmt.Errorf("certificates of %s: %w", options.Name, err)
	}
	c := &Cluster{Options: options, Authority: authority, Next: next}
	if err := c.issue(); err != nil {
		return nil, fmt.Errorf("certificates of %s: %w", options.Name, err)
	}
	if err := c.writeAuditPolicy(); err != nil {
		return nil, err
	}
	c.Admin, err = c.ClientFor("kubernetes-admin", "system:masters")
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) issue() (err error) {
	a, f := c.Authority, &c.files
	hosts := append([]string{"127.0.0.1", "localhost", c.Address, ServiceAddress.String(),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}, c.Relays...)
	if f.apiServer, err = a.Serving(ServingName, hosts...); err != nil {
		return err
	}
	f.trust = filepath.Join(PKIDir(c.Dir), "trust.crt")
	if err := os.WriteFile(f.trust, c.trust(), 0o600); err != nil {
		return fmt.Errorf("write the trusted authorities: %w", err)
	}
	if f.kubeletClient, err = a.Client("kube-apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters"); err != nil {
		return err
	}
	if f.frontProxy, err = a.Client("front-proxy-client", "front-proxy-client"); err != nil {
		return err
	}
	if f.serviceAccountKey, f.serviceAccountPub, err = a.ServiceAccountKeys(); err != nil {
		return err
	}
	if f.controllerManager, err = c.componentKubeconfig("kube-controller-manager"); err != nil {
		return err
	}
	f.scheduler, err = c.componentKubeconfig("kube-scheduler")
	return err
}

// componentKubeconfig writes the kubeconfig of a control-plane program.
func (c *Cluster) componentKubeconfig(program string) (string, error) {
	pair, err := c.Authority.Client(program, "system:"+program)
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.Dir, program+".kubeconfig")
	return file, pki.WriteKubeconfig(file, c.Kubeconfig(pki.User{Pair: pair}))
}

// URL returns the API server's URL for the programs of the sandbox.
func (c *Cluster) URL() string {
	return "https://" + net.JoinHostPort(c.Address, strconv.Itoa(APIPort))
}

// OutsideURL returns the API server's URL for programs outside the sandbox.
func (c *Cluster) OutsideURL() string {
	return "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.OutsidePort))
}

// Kubeconfig returns a kubeconfig for the programs of the sandbox.
func (c *Cluster) Kubeconfig(user pki.User) *clientcmdapi.Config {
	return pki.Kubeconfig(c.Name, c.URL(), c.trust(), user)
}

// ClientFor signs a client certificate and returns the REST configuration with it.
func (c *Cluster) ClientFor(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.Authority.Client(user, user, groups...)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*c.Kubeconfig(pki.User{Pair: pair}), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("client of %s for %s: %w", c.Name, user, err)
	}
	config.QPS, config.Burst = 100, 200
	return config, nil
}

// OutsideKubeconfig returns the administrator's kubeconfig for users and tests.
func (c *Cluster) OutsideKubeconfig() *clientcmdapi.Config {
	user := pki.Pair{CertPEM: c.Admin.CertData, KeyPEM: c.Admin.KeyData}
	return pki.Kubeconfig(c.Name, c.OutsideURL(), c.trust(), pki.User{Pair: user})
}

// InsideKubeconfig returns the administrator's kubeconfig for programs in pods of the
// sandbox.
func (c *Cluster) InsideKubeconfig() *clientcmdapi.Config {
	return c.Kubeconfig(pki.User{Pair: pki.Pair{CertPEM: c.Admin.CertData, KeyPEM: c.Admin.KeyData}})
}

// Run runs the control plane's programs until ctx ends. It calls onLoop for a program that
// keeps dying.
func (c *Cluster) Run(ctx context.Context, onLoop func(*process.LoopError)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, spec := range c.programs() {
		group.Go(func() error { return process.Keep(ctx, spec, onLoop) })
	}
	return group.Wait()
}

// WaitReady waits until the API server answers /readyz.
func (c *Cluster) WaitReady(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return fmt.Errorf("client of %s: %w", c.Name, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		_, last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(5 * time.Second).DoRaw(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server of %s: %w", c.Name, errors.Join(err, last))
	}
	return nil
}

package controlplane

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// ServiceNetwork is the prefix of the ClusterIPs of every cluster, ServiceAddress that of the Service
// kubernetes, and DNSAddress that of the DNS server: the tenth, as kubeadm chooses it. The clusters have
// the same prefix, so a snapshot can be restored to another cluster.
var (
	ServiceNetwork = netip.MustParsePrefix("10.96.0.0/16")
	ServiceAddress = netip.MustParseAddr("10.96.0.1")
	DNSAddress     = netip.MustParseAddr("10.96.0.10")
)

// etcdQuota is the largest size of etcd's data with many clusters. It is the largest that etcd
// recommends: https://etcd.io/docs/v3.6/dev-guide/limit/#storage-size-limit
const etcdQuota = 8 << 30

// controllers selects all controllers of kube-controller-manager but those of clouds and node
// networks, which the sandbox does not have.
const controllers = "*,-nodeipam,-node-route-controller,-cloud-node-lifecycle-controller,-service-lb-controller"

// port returns the n-th fixed port of the cluster on the sandbox's loopback interface.
func (c *Cluster) port(n int) int { return port(c.Index, n) }

func port(index, n int) int { return 11000 + 20*index + n }

// EtcdDir returns the directory of etcd's data of the cluster in dir.
func EtcdDir(dir string) string { return filepath.Join(dir, "etcd") }

// EtcdMember returns the flags of etcd and etcdutl that describe the only member of a
// cluster's etcd.
func EtcdMember(cluster string, index int) []string {
	peer := fmt.Sprintf("http://127.0.0.1:%d", port(index, 1))
	return []string{"--name=" + cluster, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + cluster + "=" + peer}
}

// LocalPort returns a port of the sandbox's loopback interface that no program of the control
// plane uses; n is 0 to 9.
func (c *Cluster) LocalPort(n int) int { return c.port(10 + n) }

// Program returns the specification of a program of this cluster.
func (c *Cluster) Program(name, program string, args ...string) process.Spec {
	return process.Spec{
		Name:   c.Name + "/" + name,
		Path:   filepath.Join(c.Programs, program),
		Args:   args,
		Log:    filepath.Join(c.Dir, "logs", name+".log"),
		Switch: process.SwitchOf(c.Dir, name),
	}
}

func (c *Cluster) programs() []process.Spec {
	return []process.Spec{c.etcd(), c.apiServer(), c.controllerManager(), c.scheduler()}
}

func (c *Cluster) etcd() process.Spec {
	client := fmt.Sprintf("http://127.0.0.1:%d", c.port(0))
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.port(1))
	spec := c.Program("etcd", "etcd", append(EtcdMember(c.Name, c.Index),
		"--data-dir="+EtcdDir(c.Dir),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer,
		// the data does not outlive the sandbox, so it need not reach the disk
		"--unsafe-no-fsync",
		"--log-level=warn",
	)...)
	if c.Load.Clusters > 0 {
		spec.Args = append(spec.Args, fmt.Sprintf("--quota-backend-bytes=%d", int64(etcdQuota)))
	}
	return spec
}

func (c *Cluster) apiServer() process.Spec {
	ca, f := c.Authority.CertFile(), c.files
	spec := c.Program("kube-apiserver", "kube-apiserver",
		"--bind-address="+c.Address,
		"--advertise-address="+c.Address,
		fmt.Sprintf("--secure-port=%d", APIPort),
		"--cert-dir="+filepath.Join(c.Dir, "pki"),
		"--etcd-servers="+fmt.Sprintf("http://127.0.0.1:%d", c.port(0)),
		"--client-ca-file="+ca,
		"--tls-cert-file="+f.apiServer.CertFile,
		"--tls-private-key-file="+f.apiServer.KeyFile,
		"--kubelet-client-certificate="+f.kubeletClient.CertFile,
		"--kubelet-client-key="+f.kubeletClient.KeyFile,
		"--kubelet-certificate-authority="+ca,
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file="+f.serviceAccountPub,
		"--service-account-signing-key-file="+f.serviceAccountKey,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range="+ServiceNetwork.String(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		// without these OCM's programs log errors for ever: they look for the
		// front proxy's authority in extension-apiserver-authentication
		"--requestheader-client-ca-file="+ca,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+f.frontProxy.CertFile,
		"--proxy-client-key-file="+f.frontProxy.KeyFile,
		// only pods have a route to Service addresses: webhooks and aggregated APIs are called at
		// the addresses of their pods
		"--enable-aggregator-routing=true",
		// what a fleet costs: kubectl get --raw /debug/pprof/profile
		fmt.Sprintf("--profiling=%t", c.Load.Clusters > 0),
	)
	spec.Args = append(spec.Args, c.auditFlags()...)
	if c.Load.Clusters > 0 {
		// old revisions of thousands of leases and statuses are most of etcd's data
		spec.Args = append(spec.Args, "--etcd-compaction-interval=1m", uncachedBindings)
		spec.Env = append(spec.Env, fmt.Sprintf("GOMEMLIMIT=%dMiB", memoryLimit(c.Load.Clusters)))
	} else {
		spec.Env = append(spec.Env, idleCollector)
	}
	return spec
}

// uncachedBindings lets the API server list bindings from etcd. A consistent list from its watch cache waits up to 100 ms for a
// notification of etcd. Each RBAC object that OCM's registration controller creates for a cluster needs such lists, in which the
// API server looks for the controller's own rights. That controller has one worker, so a hub with the cache accepts at most
// 2.5 clusters per second on any machine (docs/upstream/ocm-registration-workers.md).
// https://github.com/kubernetes/apiserver/blob/v0.34.4/pkg/storage/cacher/progress/watch_progress.go
const uncachedBindings = "--watch-cache-sizes=clusterrolebindings.rbac.authorization.k8s.io#0,rolebindings.rbac.authorization.k8s.io#0"

// idleCollector lets the API server of a cluster with few objects collect garbage at one and a half times
// its live memory instead of twice (https://go.dev/doc/gc-guide#GOGC). Nearly all of that memory is there
// from its start, most of it API schemas: it takes 160 MiB for itself instead of 190, and 0.3 s of processor time more to start.
// A smaller value costs more time than it saves memory.
const idleCollector = "GOGC=50"

// memoryLimit returns the memory in MiB above which the API server of a hub collects garbage earlier
// than Go's default, by which it would use about twice the memory of its live objects.
func memoryLimit(clusters int) int { return 1024 + 3*clusters/2 }

// controllerQPS is the rate of requests of each controller on a cluster without a fleet. With Kubernetes'
// default, 20, the controllers begin 3 s later, because each first fetches a token of its own.
const controllerQPS = 100

func (c *Cluster) controllerManager() process.Spec {
	args := []string{
		"--kubeconfig=" + c.files.controllerManager,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port(2)),
		"--cert-dir=" + filepath.Join(c.Dir, "pki", "kube-controller-manager"),
		"--cluster-signing-cert-file=" + c.Authority.CertFile(),
		"--cluster-signing-key-file=" + c.Authority.KeyFile(),
		"--root-ca-file=" + c.files.trust,
		"--service-account-private-key-file=" + c.files.serviceAccountKey,
		"--use-service-account-credentials=true",
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--profiling=false",
	}
	if c.CertificateLife > 0 {
		args = append(args, "--cluster-signing-duration="+c.CertificateLife.String())
	}
	qps := c.Load.QPS
	if c.Load.Clusters == 0 {
		qps = controllerQPS
	}
	if qps > 0 {
		args = append(args, fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", 2*qps))
	}
	return c.Program("kube-controller-manager", "kube-controller-manager", args...)
}

func (c *Cluster) scheduler() process.Spec {
	return c.Program("kube-scheduler", "kube-scheduler",
		"--kubeconfig="+c.files.scheduler,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port(3)),
		"--cert-dir="+filepath.Join(c.Dir, "pki", "kube-scheduler"),
		"--leader-elect=false",
		"--profiling=false",
	)
}

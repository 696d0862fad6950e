// Package services makes the Services of a cluster work for its pods: it listens on their
// ClusterIPs and answers DNS questions.
//
// It runs in a network namespace to which the whole service network is local and to which the pods
// have a route. There it listens on each port that has an endpoint, and relays connections in user
// space, TCP and UDP. So a port without an endpoint refuses connections at once, and neither packet
// filters nor an address per Service are needed. The DNS server listens on the ClusterIP of the
// Service kube-dns.
//
// It serves no SCTP, IPv6, node ports, external IPs or load balancers. A server sees the namespace's
// address as its client's. Names outside the cluster are those of the machine's /etc/hosts, because
// nothing leads out of a sandbox.
package services

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/sandbox/services/plan"
)

// User may read what Run follows: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#core-component-roles
const User = "system:kube-proxy"

// The defaults of Options.
const (
	defaultRetry   = 5 * time.Second
	defaultUDPIdle = 2 * time.Minute
)

// Network is the network namespace to which the service network is local.
type Network interface {
	// Do runs f on a thread inside the namespace.
	Do(f func() error) error
}

// Options configures the Services of a cluster.
type Options struct {
	// Config reaches the cluster's API server as User.
	Config *rest.Config
	// Network is the namespace to listen in.
	Network Network
	// DNS is the address of the DNS server.
	DNS netip.Addr
	// Retry is the time before another attempt to listen; 5 s by default.
	Retry time.Duration
	// UDPIdle is the time after which a UDP client without traffic may get another endpoint;
	// 2 minutes by default, as the kernel's nf_conntrack_udp_timeout_stream. A client that has sent
	// one datagram alone waits at most 30 s.
	UDPIdle time.Duration
	// Clock is the real clock by default.
	Clock clock.WithTicker
}

// Validate returns an error that joins every missing or invalid option.
func (o Options) Validate() error {
	var errs []error
	if o.Config == nil {
		errs = append(errs, errors.New("no client configuration: give Config"))
	}
	if o.Network == nil {
		errs = append(errs, errors.New("no network namespace: give Network"))
	}
	if !o.DNS.Is4() {
		errs = append(errs, fmt.Errorf("address %q of the DNS server is not an IPv4 address: give DNS", o.DNS))
	}
	if o.Retry < 0 || o.UDPIdle < 0 {
		errs = append(errs, fmt.Errorf("retry %s or idle time %s is negative", o.Retry, o.UDPIdle))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.UDPIdle == 0 {
		o.UDPIdle = defaultUDPIdle
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Run serves the cluster's Services and names until ctx ends.
func Run(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return fmt.Errorf("options of the cluster's Services: %w", err)
	}
	options = options.withDefaults()
	client, err := kubernetes.NewForConfig(options.Config)
	if err != nil {
		return fmt.Errorf("client of the cluster's Services: %w", err)
	}
	names := newServer()
	group, ctx := errgroup.WithContext(ctx)
	if err := names.start(ctx, group, options); err != nil {
		return err
	}
	group.Go(func() error { return follow(ctx, options, client, names) })
	return group.Wait()
}

// follow relays the ports and publishes the names of the Services, whenever these change.
func follow(ctx context.Context, options Options, client kubernetes.Interface, names *server) error {
	changed := make(chan struct{}, 1)
	factory := informers.NewSharedInformerFactory(client, 0)
	relays := newRelays(options)
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		relays.close()
		factory.Shutdown()
	}()
	services, endpointSlices := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), endpointSlices.Informer()} {
		if _, err := informer.AddEventHandler(notify(changed)); err != nil {
			return fmt.Errorf("watch the cluster's Services: %w", err)
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		s, err := services.Lister().List(labels.Everything())
		e, err2 := endpointSlices.Lister().List(labels.Everything())
		if err := errors.Join(err, err2); err != nil { // never: the lists are in memory
			return fmt.Errorf("list the cluster's Services: %w", err)
		}
		names.publish(plan.NewZone(s, e))
		var retry <-chan time.Time
		if err := relays.apply(ctx, plan.Ports(s, e)); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot listen on every Service port")
			retry = options.Clock.After(options.Retry)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-retry:
		}
	}
	return nil
}

// notify leaves a token in the channel for any number of changes.
func notify(changed chan<- struct{}) cache.ResourceEventHandler {
	leave := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { leave() },
		UpdateFunc: func(any, any) { leave() },
		DeleteFunc: func(any) { leave() },
	}
}

// dnsObject is a YAML document. The labels are those by which users find the cluster's DNS:
// https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/
const dnsObject = `
apiVersion: v1
kind: Service
metadata:
  name: kube-dns
  namespace: kube-system
  labels: {k8s-app: kube-dns, kubernetes.io/cluster-service: "true", kubernetes.io/name: CoreDNS}
spec:
  clusterIP: %[1]s
  ports:
  - {name: dns, port: %[2]d, protocol: UDP}
  - {name: dns-tcp, port: %[2]d, protocol: TCP}
---
`

// DNSObject returns the manifest of the Service kube-dns, which reserves the DNS server's address and
// shows it to users. The Service has no endpoints: Run listens on its address.
func DNSObject(address netip.Addr) []byte {
	return fmt.Appendf(nil, dnsObject, address, dnsPort)
}

package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/services/plan"
)

const dnsPort = 53

// syncTimeout limits the time for which a question waits for the first list of Services. Resolvers
// ask again after 5 s.
const syncTimeout = 4 * time.Second

// server answers the DNS questions of a cluster's pods.
type server struct {
	zone atomic.Pointer[plan.Zone]
	// synced is closed when there is a zone.
	synced chan struct{}
	turn   atomic.Uint32
	// machine looks names up in the machine's /etc/hosts.
	machine *net.Resolver
}

func newServer() *server {
	return &server{synced: make(chan struct{}), machine: &net.Resolver{
		PreferGo: true,
		// There is no DNS server to ask: the sandbox has no way out.
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed },
	}}
}

// publish replaces the zone. It is for one goroutine.
func (s *server) publish(zone *plan.Zone) {
	if s.zone.Swap(zone) == nil {
		close(s.synced)
	}
}

// start listens in the namespace and adds the servers to the group, until ctx ends.
func (s *server) start(ctx context.Context, group *errgroup.Group, options Options) error {
	at := netip.AddrPortFrom(options.DNS, dnsPort)
	packets, err := listenUDP(options.Network, at)
	if err != nil {
		return fmt.Errorf("listen for DNS on UDP %s: %w", at, err)
	}
	listener, err := listenTCP(options.Network, at)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for DNS on TCP %s: %w", at, err), packets.Close())
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) { s.serve(ctx, w, request) })
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: listener, Handler: handler}} {
		group.Go(func() error {
			stop := context.AfterFunc(ctx, func() {
				if server.Shutdown() != nil { // it has not started
					_ = errors.Join(packets.Close(), listener.Close())
				}
			})
			defer stop()
			if err := server.ActivateAndServe(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("serve DNS on %s: %w", at, err)
			}
			return nil
		})
	}
	return nil
}

// serve answers a request. A request without exactly one question is a format error:
// https://www.rfc-editor.org/rfc/rfc9619
func (s *server) serve(ctx context.Context, w dns.ResponseWriter, request *dns.Msg) {
	if len(request.Question) != 1 { // the header's count, which the library checks, may be wrong
		send(ctx, w, new(dns.Msg).SetRcodeFormatError(request))
		return
	}
	reply := new(dns.Msg).SetReply(request)
	reply.RecursionAvailable = true
	size := dns.MaxMsgSize
	if w.LocalAddr().Network() == "udp" {
		size = dns.MinMsgSize
	}
	if edns := request.IsEdns0(); edns != nil {
		reply.SetEdns0(edns.UDPSize(), false)
		if size == dns.MinMsgSize {
			size = int(max(edns.UDPSize(), dns.MinMsgSize))
		}
	}
	s.answer(ctx, reply)
	reply.Truncate(size)
	send(ctx, w, reply)
}

func send(ctx context.Context, w dns.ResponseWriter, reply *dns.Msg) {
	if err := w.WriteMsg(reply); err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot answer a DNS question", "reason", err.Error())
	}
}

// answer adds the answer to its one question to a reply.
func (s *server) answer(ctx context.Context, reply *dns.Msg) {
	select {
	case <-s.synced:
	case <-ctx.Done():
	case <-time.After(syncTimeout):
	}
	zone := s.zone.Load()
	if zone == nil {
		reply.Rcode = dns.RcodeServerFailure
		return
	}
	answer := zone.Answer(reply.Question[0], int(s.turn.Add(1)))
	if answer.Outside != "" {
		answer = answer.Resolved(s.lookUp(ctx, answer.Outside))
	}
	reply.Authoritative = answer.Outside == ""
	reply.Rcode, reply.Answer, reply.Ns = answer.Code, answer.Records, answer.Authority
}

// lookUp returns the addresses of a name in the machine's /etc/hosts.
func (s *server) lookUp(ctx context.Context, name string) []netip.Addr {
	addresses, err := s.machine.LookupNetIP(ctx, "ip", strings.TrimSuffix(name, "."))
	if err != nil {
		return nil // unknown
	}
	for i := range addresses {
		addresses[i] = addresses[i].Unmap()
	}
	return addresses
}

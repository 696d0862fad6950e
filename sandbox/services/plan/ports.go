package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Port is a port of a Service's ClusterIP.
type Port struct {
	// Protocol is TCP or UDP.
	Protocol corev1.Protocol
	Address  netip.AddrPort
}

// Backends are the endpoints to which the connections to a port go.
type Backends struct {
	// Endpoints are sorted; there is at least one.
	Endpoints []netip.AddrPort
	// Affinity is the time for which a client stays with an endpoint after a connection, 0
	// without session affinity.
	Affinity time.Duration
}

// Ports returns the ports of all Services that have an endpoint. Connections to the others are
// refused. As with kube-proxy, terminating endpoints that still serve stand in if no other is
// ready:
// https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-to-terminating-endpoints
//
// Endpoints that are a ClusterIP do not count: the relay could connect to itself without end.
// Kubernetes forbids them and does not validate it:
// https://kubernetes.io/docs/concepts/services-networking/service/#services-without-selectors
func Ports(services []*corev1.Service, endpointSlices []*discoveryv1.EndpointSlice) map[Port]Backends {
	of := byService(endpointSlices)
	clusterIPs := map[netip.Addr]bool{}
	for _, service := range services {
		if ip, err := netip.ParseAddr(service.Spec.ClusterIP); err == nil {
			clusterIPs[ip] = true
		}
	}
	own := func(e netip.AddrPort) bool { return clusterIPs[e.Addr()] }
	ports := map[Port]Backends{}
	for _, service := range services {
		ip, err := netip.ParseAddr(service.Spec.ClusterIP)
		if err != nil || !ip.Is4() {
			continue // a headless Service, an ExternalName or IPv6
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol != corev1.ProtocolTCP && port.Protocol != corev1.ProtocolUDP {
				continue
			}
			endpoints := slices.DeleteFunc(addresses(of[nameOf(service)], port, ready), own)
			if len(endpoints) == 0 {
				endpoints = slices.DeleteFunc(addresses(of[nameOf(service)], port, servesYet), own)
			}
			if len(endpoints) > 0 {
				at := Port{Protocol: port.Protocol, Address: netip.AddrPortFrom(ip, uint16(port.Port))}
				ports[at] = Backends{Endpoints: endpoints, Affinity: affinity(&service.Spec)}
			}
		}
	}
	return ports
}

func nameOf(service *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
}

// byService returns the slices of each Service, sorted by name.
func byService(endpointSlices []*discoveryv1.EndpointSlice) map[types.NamespacedName][]*discoveryv1.EndpointSlice {
	of := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for _, slice := range endpointSlices {
		name := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		if name.Name != "" {
			of[name] = append(of[name], slice)
		}
	}
	for _, sorted := range of {
		slices.SortFunc(sorted, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	}
	return of
}

// ready reports whether connections go to an endpoint. An unknown state means ready:
// https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/
func ready(e discoveryv1.EndpointConditions) bool { return e.Ready == nil || *e.Ready }

// servesYet reports whether an endpoint is terminating and still serves.
func servesYet(e discoveryv1.EndpointConditions) bool {
	return e.Terminating != nil && *e.Terminating && e.Serving != nil && *e.Serving
}

// addresses returns the sorted addresses of a port at the selected endpoints. Slices have the
// target port's number, also if the Service names it.
func addresses(of []*discoveryv1.EndpointSlice, port corev1.ServicePort, selected func(discoveryv1.EndpointConditions) bool) []netip.AddrPort {
	var found []netip.AddrPort
	for _, slice := range of {
		for _, target := range slice.Ports {
			if target.Port == nil || value(target.Name) != port.Name || protocol(target) != port.Protocol {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if ip, ok := address(endpoint); ok && selected(endpoint.Conditions) {
					found = append(found, netip.AddrPortFrom(ip, uint16(*target.Port)))
				}
			}
		}
	}
	slices.SortFunc(found, netip.AddrPort.Compare)
	return slices.Compact(found)
}

// protocol returns a target port's protocol; the default is TCP.
func protocol(port discoveryv1.EndpointPort) corev1.Protocol {
	if port.Protocol == nil {
		return corev1.ProtocolTCP
	}
	return *port.Protocol
}

// address returns an endpoint's address. Further ones are equivalent.
func address(endpoint discoveryv1.Endpoint) (netip.Addr, bool) {
	if len(endpoint.Addresses) == 0 {
		return netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(endpoint.Addresses[0])
	return ip, err == nil && ip.Is4()
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func affinity(spec *corev1.ServiceSpec) time.Duration {
	if spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	seconds := corev1.DefaultClientIPServiceAffinitySeconds
	if c := spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		seconds = *c.ClientIP.TimeoutSeconds
	}
	return time.Duration(seconds) * time.Second
}

// Balancer chooses the endpoints of a port's connections: one after the other or, with affinity,
// the one that the client had before. The zero Balancer is ready to use.
type Balancer struct {
	next    int
	clients map[netip.Addr]choice
}

// choice is a client's endpoint and the time of its last connection.
type choice struct {
	endpoint netip.AddrPort
	used     time.Time
}

// Pick returns the endpoint for a connection of the client.
func (b *Balancer) Pick(backends Backends, client netip.Addr, now time.Time) netip.AddrPort {
	last, known := b.clients[client]
	stays := known && now.Sub(last.used) < backends.Affinity && slices.Contains(backends.Endpoints, last.endpoint)
	if !stays {
		last.endpoint = backends.Endpoints[b.next%len(backends.Endpoints)]
		b.next++
	}
	if backends.Affinity > 0 {
		if b.clients == nil {
			b.clients = map[netip.Addr]choice{}
		}
		b.clients[client] = choice{last.endpoint, now}
	}
	return last.endpoint
}

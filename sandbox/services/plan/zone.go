package plan

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Domain is the cluster domain of every cluster.
const Domain = "cluster.local"

// TTL is the time in seconds for which resolvers may keep an answer: CoreDNS' default.
const TTL = 5

// schemaVersion is that of the specification.
const schemaVersion = "1.1.0"

const (
	zoneName     = Domain + "."
	servicesName = "svc." + zoneName
	podsName     = "pod." + zoneName
	reverseName  = "in-addr.arpa."
)

// Zone holds the DNS records of a cluster.
type Zone struct {
	// records has the records by name in lower case. A name without records is one that has
	// names below it.
	records map[string][]dns.RR
}

// NewZone returns the records of Services and their ready endpoints.
func NewZone(services []*corev1.Service, endpointSlices []*discoveryv1.EndpointSlice) *Zone {
	z := &Zone{records: map[string][]dns.RR{}}
	z.add(soa())
	z.add(&dns.TXT{Hdr: header("dns-version."+zoneName, dns.TypeTXT), Txt: []string{schemaVersion}})
	z.addParents(servicesName)
	z.addParents(podsName)
	of := byService(endpointSlices)
	for _, service := range services {
		name := dns.Fqdn(strings.ToLower(service.Name + "." + service.Namespace + "." + servicesName))
		switch ip := net.ParseIP(service.Spec.ClusterIP).To4(); {
		case service.Spec.Type == corev1.ServiceTypeExternalName:
			z.add(&dns.CNAME{Hdr: header(name, dns.TypeCNAME), Target: dns.Fqdn(service.Spec.ExternalName)})
		case service.Spec.ClusterIP == corev1.ClusterIPNone:
			z.addHeadless(name, of[nameOf(service)])
		case ip != nil:
			z.addAddress(name, ip)
			z.addReverse(ip, name)
			for _, port := range service.Spec.Ports {
				z.addPort(name, port.Name, port.Protocol, uint16(port.Port), name)
			}
		}
	}
	return z
}

// addHeadless adds the records of a headless Service. Without a ready endpoint there are none, so
// its name does not exist.
func (z *Zone) addHeadless(name string, of []*discoveryv1.EndpointSlice) {
	for _, slice := range of {
		for _, endpoint := range slice.Endpoints {
			ip, ok := address(endpoint)
			if !ok || !ready(endpoint.Conditions) {
				continue
			}
			host := hostname(endpoint, ip) + "." + name
			z.addAddress(name, ip.AsSlice())
			z.addAddress(host, ip.AsSlice())
			z.addReverse(ip.AsSlice(), host)
			for _, port := range slice.Ports {
				if port.Port != nil {
					z.addPort(name, value(port.Name), protocol(port), uint16(*port.Port), host)
				}
			}
		}
	}
}

// hostname returns an endpoint's name below its Service: the pod's hostname if the pod has the
// Service as its subdomain, else its address. For example, 10-201-1-3.
func hostname(endpoint discoveryv1.Endpoint, ip netip.Addr) string {
	if name := value(endpoint.Hostname); name != "" {
		return strings.ToLower(name)
	}
	return strings.ReplaceAll(ip.String(), ".", "-")
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: TTL}
}

// soa returns the zone's start of authority, by which resolvers know how long a name that does not
// exist may be cached.
func soa() *dns.SOA {
	return &dns.SOA{
		Hdr: header(zoneName, dns.TypeSOA), Ns: "ns.dns." + zoneName, Mbox: "hostmaster." + zoneName,
		Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: TTL,
	}
}

func (z *Zone) addAddress(name string, ip net.IP) {
	z.add(&dns.A{Hdr: header(name, dns.TypeA), A: ip})
}

func (z *Zone) addReverse(ip net.IP, name string) {
	if reverse, err := dns.ReverseAddr(ip.String()); err == nil { // always: it is an IP
		z.add(&dns.PTR{Hdr: header(reverse, dns.TypePTR), Ptr: name})
	}
}

// addPort adds the SRV record of a named port.
func (z *Zone) addPort(service, port string, protocol corev1.Protocol, number uint16, target string) {
	if port == "" {
		return
	}
	name := "_" + strings.ToLower(port+"._"+string(protocol)) + "." + service
	z.add(&dns.SRV{Hdr: header(name, dns.TypeSRV), Priority: 0, Weight: 100, Port: number, Target: target})
}

// add adds a record, unless the zone has it: an endpoint may be in two slices for a while.
func (z *Zone) add(record dns.RR) {
	name := record.Header().Name
	z.addParents(name)
	known := func(r dns.RR) bool { return dns.IsDuplicate(r, record) }
	if !slices.ContainsFunc(z.records[name], known) {
		z.records[name] = append(z.records[name], record)
	}
}

// addParents makes a name and the names above it exist: a resolver may conclude from a name that
// does not exist that none exists below it (RFC 8020).
func (z *Zone) addParents(name string) {
	for ; name != "" && name != reverseName; _, name, _ = strings.Cut(name, ".") {
		if _, known := z.records[name]; known {
			return
		}
		z.records[name] = nil
		if name == zoneName {
			return
		}
	}
}

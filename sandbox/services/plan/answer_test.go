package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// testZone has a Service of each kind.
func testZone() *Zone {
	no := false
	named := endpoint("10.201.1.5", nil)
	host := "Db-0"
	named.Hostname = &host
	external := func(name, to string) *corev1.Service {
		s := service(name, "")
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, to
		return s
	}
	ports := []discoveryv1.EndpointPort{target("sql", corev1.ProtocolTCP, 5432)}
	services := []*corev1.Service{
		service("web", "10.96.0.7", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "log", Port: 514, Protocol: corev1.ProtocolUDP}),
		service("plain", "10.96.0.8", corev1.ServicePort{Port: 80}),
		service("db", corev1.ClusterIPNone), service("empty", corev1.ClusterIPNone), service("pending", ""),
		external("alias", "web.ns.svc.cluster.local"), external("out", "www.example.com"),
		external("loop", "loop.ns.svc.cluster.local"), external("gone", "gone.other.svc.cluster.local"),
	}
	return NewZone(services, []*discoveryv1.EndpointSlice{
		slice("db", "a", ports, endpoint("10.201.1.4", nil), named, endpoint("10.201.1.6", &no)),
		slice("db", "b", ports, endpoint("10.201.1.4", nil)),
		slice("empty", "c", ports, endpoint("10.201.1.7", &no)),
		slice("web", "d", ports, endpoint("10.201.1.8", nil)),
	})
}

func TestAnswer(t *testing.T) {
	const nxdomain = "NXDOMAIN"
	tests := map[string]struct {
		name string // below cluster.local unless it ends with a dot
		kind uint16
		turn int
		want []string // the records without TTL and class, or NXDOMAIN and such records
	}{
		"address of a Service":                 {name: "web.ns.svc", kind: dns.TypeA, want: []string{"A 10.96.0.7"}},
		"in another case":                      {name: "WEB.ns.SVC", kind: dns.TypeA, want: []string{"A 10.96.0.7"}},
		"no IPv6, but the name exists":         {name: "web.ns.svc", kind: dns.TypeAAAA},
		"port of a Service":                    {name: "_http._tcp.web.ns.svc", kind: dns.TypeSRV, want: []string{"SRV 0 100 80 web.ns.svc.cluster.local."}},
		"UDP port of a Service":                {name: "_log._udp.web.ns.svc", kind: dns.TypeSRV, want: []string{"SRV 0 100 514 web.ns.svc.cluster.local."}},
		"port of another protocol":             {name: "_http._udp.web.ns.svc", kind: dns.TypeSRV, want: []string{nxdomain}},
		"a port without a name":                {name: "_._tcp.plain.ns.svc", kind: dns.TypeSRV, want: []string{nxdomain}},
		"name of a ClusterIP":                  {name: "7.0.96.10.in-addr.arpa.", kind: dns.TypePTR, want: []string{"PTR web.ns.svc.cluster.local."}},
		"ready endpoints of a headless one":    {name: "db.ns.svc", kind: dns.TypeA, want: []string{"A 10.201.1.4", "A 10.201.1.5"}},
		"the next time in another order":       {name: "db.ns.svc", kind: dns.TypeA, turn: 3, want: []string{"A 10.201.1.5", "A 10.201.1.4"}},
		"endpoint by the pod's hostname":       {name: "db-0.db.ns.svc", kind: dns.TypeA, want: []string{"A 10.201.1.5"}},
		"endpoint by its address":              {name: "10-201-1-4.db.ns.svc", kind: dns.TypeA, want: []string{"A 10.201.1.4"}},
		"an endpoint that is not ready":        {name: "10-201-1-6.db.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"endpoint of a Service with ClusterIP": {name: "10-201-1-8.web.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"ports of endpoints": {name: "_sql._tcp.db.ns.svc", kind: dns.TypeSRV,
			want: []string{"SRV 0 100 5432 10-201-1-4.db.ns.svc.cluster.local.", "SRV 0 100 5432 db-0.db.ns.svc.cluster.local."}},
		"name of an endpoint":                      {name: "5.1.201.10.in-addr.arpa.", kind: dns.TypePTR, want: []string{"PTR db-0.db.ns.svc.cluster.local."}},
		"name of an address nobody has":            {name: "9.1.201.10.in-addr.arpa.", kind: dns.TypePTR, want: []string{nxdomain}},
		"a headless one without ready endpoints":   {name: "empty.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"a Service without its ClusterIP yet":      {name: "pending.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"ExternalName in the cluster":              {name: "alias.ns.svc", kind: dns.TypeA, want: []string{"CNAME web.ns.svc.cluster.local.", "A 10.96.0.7"}},
		"the alias itself":                         {name: "alias.ns.svc", kind: dns.TypeCNAME, want: []string{"CNAME web.ns.svc.cluster.local."}},
		"ExternalName of no IPv6":                  {name: "alias.ns.svc", kind: dns.TypeAAAA, want: []string{"CNAME web.ns.svc.cluster.local."}},
		"ExternalName that the machine knows":      {name: "out.ns.svc", kind: dns.TypeA, want: []string{"CNAME www.example.com.", "A 192.0.2.1"}},
		"ExternalName of a Service without record": {name: "gone.ns.svc", kind: dns.TypeA, want: []string{nxdomain, "CNAME gone.other.svc.cluster.local."}},
		"pod by its address":                       {name: "10-201-1-77.any.pod", kind: dns.TypeA, want: []string{"A 10.201.1.77"}},
		"not an address":                           {name: "10-201-1.any.pod", kind: dns.TypeA, want: []string{nxdomain}},
		"a pod below no namespace":                 {name: "10-201-1-77.pod", kind: dns.TypeA, want: []string{nxdomain}},
		"a Service that does not exist":            {name: "no.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"below a Service":                          {name: "no.web.ns.svc", kind: dns.TypeA, want: []string{nxdomain}},
		"a namespace exists, without records":      {name: "ns.svc", kind: dns.TypeA},
		"version":                                  {name: "dns-version", kind: dns.TypeTXT, want: []string{`TXT "1.1.0"`}},
		"a name of the machine":                    {name: "www.example.com.", kind: dns.TypeA, want: []string{"A 192.0.2.1"}},
		"a name of the machine without IPv6":       {name: "www.example.com.", kind: dns.TypeAAAA},
		"any other name":                           {name: "example.com.", kind: dns.TypeA, want: []string{nxdomain}},
		"not the domain but its end":               {name: "evilcluster.local.", kind: dns.TypeA, want: []string{"A 192.0.2.2"}},
	}
	machine := map[string][]netip.Addr{"www.example.com.": {netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")},
		"evilcluster.local.": {netip.MustParseAddr("192.0.2.2")}}
	zone := testZone()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			question := dns.Question{Name: tt.name, Qtype: tt.kind, Qclass: dns.ClassINET}
			if !strings.HasSuffix(tt.name, ".") {
				question.Name += "." + zoneName
			}
			answer := zone.Answer(question, tt.turn)
			answer = answer.Resolved(machine[answer.Outside])
			var got []string
			if answer.Code != dns.RcodeSuccess {
				got = append(got, dns.RcodeToString[answer.Code])
			}
			for _, record := range answer.Records {
				got = append(got, strings.TrimPrefix(record.String()[len(record.Header().Name):], "\t5\tIN\t"))
			}
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "\t", " ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answer to %s (-want +got):\n%s", &question, diff)
			}
			if len(answer.Records) > 0 && answer.Records[0].Header().Name != question.Name {
				t.Errorf("first record: got the name %s, want it as asked for: %s", answer.Records[0].Header().Name, question.Name)
			}
			if negative := len(answer.Records) == 0; negative && answer.Outside == "" && len(answer.Authority) == 0 {
				t.Error("a negative answer of the zone has no SOA record")
			}
		})
	}
}

// TestAnswerEndsLoops checks that ExternalNames in a circle get an answer.
func TestAnswerEndsLoops(t *testing.T) {
	got := testZone().Answer(dns.Question{Name: "loop.ns.svc." + zoneName, Qtype: dns.TypeA}, 0)
	if len(got.Records) != maxAliases {
		t.Errorf("got %d records, want %d", len(got.Records), maxAliases)
	}
}

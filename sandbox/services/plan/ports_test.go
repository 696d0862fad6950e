package plan

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPorts(t *testing.T) {
	yes, no := true, false
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	plain := service("web", "10.96.0.7", corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(8080)})
	onPort := []discoveryv1.EndpointPort{target("", tcp, 8080)}
	sticky := plain.DeepCopy()
	sticky.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	short := sticky.DeepCopy()
	seconds := int32(5)
	short.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	v6 := slice("web", "six", onPort, endpoint("fd00::1", nil))
	v6.AddressType = discoveryv1.AddressTypeIPv6
	noNumber := target("", tcp, 0)
	noNumber.Port = nil
	tests := map[string]struct {
		service *corev1.Service
		slices  []*discoveryv1.EndpointSlice
		want    map[string][]string
		sticky  time.Duration
	}{
		"ready endpoints of all slices, each once and sorted": {
			service: plain,
			slices: []*discoveryv1.EndpointSlice{
				slice("web", "b", onPort, endpoint("10.201.1.9", &yes), endpoint("10.201.1.3", &yes)),
				slice("web", "a", onPort, endpoint("10.201.1.3", nil), endpoint("10.201.1.4", &no)),
			},
			want: map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.3:8080", "10.201.1.9:8080"}},
		},
		"no ready endpoint: connections are refused": {
			service: plain,
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", &no), terminating("10.201.1.5", false))},
		},
		"the last endpoints terminate but serve": {
			service: plain,
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", &no), terminating("10.201.1.5", true))},
			want:    map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.5:8080"}},
		},
		"a terminating endpoint beside a ready one gets nothing": {
			service: plain,
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", &yes), terminating("10.201.1.5", true))},
			want:    map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080"}},
		},
		"slices of other Services, of IPv6 and without a port": {
			service: plain,
			slices: []*discoveryv1.EndpointSlice{
				slice("other", "a", onPort, endpoint("10.201.1.4", nil)), v6,
				slice("web", "b", []discoveryv1.EndpointPort{noNumber}, endpoint("10.201.1.4", nil)),
			},
		},
		"ClusterIPs as endpoints, which would lead back to the relay": {
			service: plain,
			slices: []*discoveryv1.EndpointSlice{
				slice("web", "a", onPort, endpoint("10.96.0.7", nil), endpoint("10.96.0.99", nil), endpoint("10.201.1.4", nil)),
			},
			want: map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080"}},
		},
		"a port by name whose number differs between pods": {
			service: service("web", "10.96.0.7", corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromString("web")}),
			slices: []*discoveryv1.EndpointSlice{
				slice("web", "a", []discoveryv1.EndpointPort{target("http", tcp, 8080)}, endpoint("10.201.1.4", nil)),
				slice("web", "b", []discoveryv1.EndpointPort{target("http", tcp, 9090)}, endpoint("10.201.1.5", nil)),
			},
			want: map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080", "10.201.1.5:9090"}},
		},
		"one number for TCP and UDP": {
			service: service("dns", "10.96.0.8", corev1.ServicePort{Name: "dns", Port: 53, Protocol: udp}, corev1.ServicePort{Name: "dns-tcp", Port: 53}),
			slices: []*discoveryv1.EndpointSlice{slice("dns", "a",
				[]discoveryv1.EndpointPort{target("dns", udp, 5353), target("dns-tcp", tcp, 5354)}, endpoint("10.201.1.4", nil))},
			want: map[string][]string{"UDP 10.96.0.8:53": {"10.201.1.4:5353"}, "TCP 10.96.0.8:53": {"10.201.1.4:5354"}},
		},
		"two ports, and a slice with a port of another protocol": {
			service: service("web", "10.96.0.7", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "admin", Port: 81}),
			slices: []*discoveryv1.EndpointSlice{slice("web", "a",
				[]discoveryv1.EndpointPort{target("http", tcp, 8080), target("admin", tcp, 9090), target("http", udp, 8081)}, endpoint("10.201.1.4", nil))},
			want: map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080"}, "TCP 10.96.0.7:81": {"10.201.1.4:9090"}},
		},
		"SCTP": {
			service: service("s", "10.96.0.9", corev1.ServicePort{Port: 80, Protocol: corev1.ProtocolSCTP}),
			slices: []*discoveryv1.EndpointSlice{slice("s", "a",
				[]discoveryv1.EndpointPort{target("", corev1.ProtocolSCTP, 80)}, endpoint("10.201.1.4", nil))},
		},
		"headless": {
			service: service("web", corev1.ClusterIPNone, corev1.ServicePort{Port: 80}),
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", nil))},
		},
		"affinity by its default time": {
			service: sticky,
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", nil))},
			want:    map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080"}}, sticky: 3 * time.Hour,
		},
		"affinity by its own time": {
			service: short,
			slices:  []*discoveryv1.EndpointSlice{slice("web", "a", onPort, endpoint("10.201.1.4", nil))},
			want:    map[string][]string{"TCP 10.96.0.7:80": {"10.201.1.4:8080"}}, sticky: 5 * time.Second,
		},
	}
	beside := service("beside", "10.96.0.99")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for port, backends := range Ports([]*corev1.Service{tt.service, beside}, tt.slices) {
				for _, e := range backends.Endpoints {
					key := string(port.Protocol) + " " + port.Address.String()
					got[key] = append(got[key], e.String())
				}
				if backends.Affinity != tt.sticky {
					t.Errorf("affinity: got %s, want %s", backends.Affinity, tt.sticky)
				}
			}
			if tt.want == nil {
				tt.want = map[string][]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("endpoints by port (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBalancer(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	one, two, three := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("10.0.0.2:80"), netip.MustParseAddrPort("10.0.0.3:80")
	both := []netip.AddrPort{one, two}
	type pick struct {
		client    string
		after     time.Duration // since the start
		endpoints []netip.AddrPort
		want      netip.AddrPort
	}
	tests := map[string]struct {
		affinity time.Duration
		picks    []pick
	}{
		"one after the other, whoever the client is": {
			picks: []pick{{"10.0.0.8", 0, both, one}, {"10.0.0.8", 0, both, two}, {"10.0.0.9", 0, both, one}},
		},
		"fewer endpoints than before": {
			picks: []pick{{"10.0.0.8", 0, both, one}, {"10.0.0.8", 0, []netip.AddrPort{two}, two}, {"10.0.0.8", 0, both, one}},
		},
		"a client stays with affinity, also with a new endpoint": {
			affinity: time.Minute,
			picks: []pick{{"10.0.0.8", 0, both, one}, {"10.0.0.9", 0, both, two}, {"10.0.0.8", 0, both, one},
				{"10.0.0.8", 0, []netip.AddrPort{one, two, three}, one}},
		},
		"it moves when its endpoint leaves": {
			affinity: time.Minute,
			picks:    []pick{{"10.0.0.8", 0, both, one}, {"10.0.0.8", 0, []netip.AddrPort{two}, two}, {"10.0.0.8", 0, both, two}},
		},
		"the affinity ends after its time since the last connection": {
			affinity: time.Minute,
			picks: []pick{{"10.0.0.8", 0, both, one}, {"10.0.0.8", 50 * time.Second, both, one}, {"10.0.0.8", 100 * time.Second, both, one},
				{"10.0.0.8", 160 * time.Second, both, two}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b Balancer
			for i, p := range tt.picks {
				got := b.Pick(Backends{p.endpoints, tt.affinity}, netip.MustParseAddr(p.client), start.Add(p.after))
				if got != p.want {
					t.Errorf("pick %d: got %s, want %s", i, got, p.want)
				}
			}
		})
	}
}

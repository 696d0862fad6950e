package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostNames(t *testing.T) {
	yes := true
	const rest = ".web.ns.svc.cluster.local"
	fits, tooLong := strings.Repeat("a", 64-len(rest)), strings.Repeat("a", 65-len(rest))
	tests := map[string]struct {
		spec     corev1.PodSpec
		domain   string
		hostname string
		names    []string
	}{
		"the pod's name":             {corev1.PodSpec{}, "cluster.local", "web-0", nil},
		"its own hostname":           {corev1.PodSpec{Hostname: "h"}, "cluster.local", "h", nil},
		"a subdomain":                {corev1.PodSpec{Subdomain: "web"}, "cluster.local", "web-0", []string{"web-0.web.ns.svc.cluster.local", "web-0"}},
		"hostname and subdomain":     {corev1.PodSpec{Hostname: "h", Subdomain: "web"}, "cluster.local", "h", []string{"h.web.ns.svc.cluster.local", "h"}},
		"the full name as hostname":  {corev1.PodSpec{Subdomain: "web", SetHostnameAsFQDN: &yes}, "cluster.local", "web-0.web.ns.svc.cluster.local", []string{"web-0.web.ns.svc.cluster.local", "web-0"}},
		"no full name without DNS":   {corev1.PodSpec{Subdomain: "web"}, "", "web-0", nil},
		"63 bytes":                   {corev1.PodSpec{Hostname: strings.Repeat("a", 63)}, "cluster.local", strings.Repeat("a", 63), nil},
		"more are cut":               {corev1.PodSpec{Hostname: strings.Repeat("a", 64)}, "cluster.local", strings.Repeat("a", 63), nil},
		"no hyphen or dot at an end": {corev1.PodSpec{Hostname: strings.Repeat("a", 61) + "-.b"}, "cluster.local", strings.Repeat("a", 61), nil},
		"a full name of 64 bytes":    {corev1.PodSpec{Hostname: fits, Subdomain: "web", SetHostnameAsFQDN: &yes}, "cluster.local", fits + rest, []string{fits + rest, fits}},
		"a longer one in /etc/hosts": {corev1.PodSpec{Hostname: tooLong, Subdomain: "web"}, "cluster.local", tooLong, []string{tooLong + rest, tooLong}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0"}, Spec: tt.spec}
			hostname, names, err := HostNames(pod, tt.domain)
			if err != nil {
				t.Fatal(err)
			}
			if hostname != tt.hostname {
				t.Errorf("hostname: got %q, want %q", hostname, tt.hostname)
			}
			if diff := cmp.Diff(tt.names, names); diff != "" {
				t.Errorf("names in /etc/hosts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHostNamesTooLong checks that the hostname is not cut where it has to be the full name.
func TestHostNamesTooLong(t *testing.T) {
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strings.Repeat("a", 40)},
		Spec: corev1.PodSpec{Subdomain: "web", SetHostnameAsFQDN: &yes}}
	hostname, _, err := HostNames(pod, "cluster.local")
	if err == nil || !strings.Contains(err.Error(), "has 65 characters, a hostname at most 64") {
		t.Errorf("got %q, error %v", hostname, err)
	}
}

func TestResolvConf(t *testing.T) {
	two := "2"
	cluster := netip.MustParseAddr("10.96.0.10")
	const first = "nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
	tests := map[string]struct {
		policy corev1.DNSPolicy
		config *corev1.PodDNSConfig
		server netip.Addr
		want   string
	}{
		"no policy is ClusterFirst":           {server: cluster, want: first},
		"ClusterFirst":                        {policy: corev1.DNSClusterFirst, server: cluster, want: first},
		"ClusterFirstWithHostNet":             {policy: corev1.DNSClusterFirstWithHostNet, server: cluster, want: first},
		"a cluster without DNS":               {policy: corev1.DNSClusterFirst},
		"Default: the node has no server":     {policy: corev1.DNSDefault, server: cluster},
		"None: the pod's own settings alone":  {corev1.DNSNone, &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1"}, Searches: []string{"a.b"}}, cluster, "nameserver 192.0.2.1\nsearch a.b\n"},
		"settings are added, each word once":  {"", &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1", "10.96.0.10"}, Searches: []string{"a.b", "cluster.local"}}, cluster, "nameserver 10.96.0.10\nnameserver 192.0.2.1\nsearch ns.svc.cluster.local svc.cluster.local cluster.local a.b\noptions ndots:5\n"},
		"options replace those of their name": {"", &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &two}, {Name: "edns0"}}}, cluster, "nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:2 edns0\n"},
		"at most three servers":               {corev1.DNSDefault, &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}}, cluster, "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.PodSpec{DNSPolicy: tt.policy, DNSConfig: tt.config}}
			if diff := cmp.Diff(tt.want, ResolvConf(pod, tt.server, "cluster.local")); diff != "" {
				t.Errorf("resolv.conf (-want +got):\n%s", diff)
			}
		})
	}
}

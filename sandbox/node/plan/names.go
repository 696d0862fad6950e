package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The limits of resolv.conf, as kubelet applies them:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/apis/core/validation/validation.go
const (
	maxNameservers = 3
	maxSearches    = 32
)

const (
	// maxHostname is kubelet's limit of a short hostname in bytes.
	maxHostname = 63
	// maxFullHostname is the kernel's limit, which a full name as hostname may not exceed.
	maxFullHostname = 64
)

// HostNames returns a pod's hostname and the names of its own address in /etc/hosts. A pod with a
// subdomain has a full name as well. For example, web-0.web.default.svc.cluster.local. The error is
// that of a full name that is too long for the hostname, if setHostnameAsFQDN asks for it:
// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-sethostnameasfqdn-field
func HostNames(pod *corev1.Pod, domain string) (hostname string, names []string, err error) {
	short := shortHostname(cmp.Or(pod.Spec.Hostname, pod.Name))
	if pod.Spec.Subdomain == "" || domain == "" {
		return short, nil, nil
	}
	full := fmt.Sprintf("%s.%s.%s.svc.%s", short, pod.Spec.Subdomain, pod.Namespace, domain)
	if !yes(pod.Spec.SetHostnameAsFQDN) {
		return short, []string{full, short}, nil
	}
	if len(full) > maxFullHostname {
		return "", nil, fmt.Errorf("full name %s of the pod has %d characters, a hostname at most %d: shorten its name or subdomain, or unset setHostnameAsFQDN",
			full, len(full), maxFullHostname)
	}
	return full, []string{full, short}, nil
}

// shortHostname truncates a name as kubelet does, and leaves no dot or hyphen at its end.
func shortHostname(name string) string {
	if len(name) <= maxHostname {
		return name
	}
	return strings.TrimRight(name[:maxHostname], "-.")
}

// ResolvConf returns the content of a pod's /etc/resolv.conf by its dnsPolicy and dnsConfig; it is
// empty if there is nothing to resolve names with. The policy Default stands for the node's name
// servers, of which there are none: pods have no way out of the sandbox.
// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
func ResolvConf(pod *corev1.Pod, server netip.Addr, domain string) string {
	var servers, searches, options []string
	policy := pod.Spec.DNSPolicy
	if server.IsValid() && policy != corev1.DNSDefault && policy != corev1.DNSNone {
		servers = []string{server.String()}
		searches = []string{pod.Namespace + ".svc." + domain, "svc." + domain, domain}
		options = []string{"ndots:5"}
	}
	if c := pod.Spec.DNSConfig; c != nil {
		servers = distinct(append(servers, c.Nameservers...))
		searches = distinct(append(searches, c.Searches...))
		options = mergeOptions(options, c.Options)
	}
	var out strings.Builder
	for _, s := range servers[:min(len(servers), maxNameservers)] {
		fmt.Fprintf(&out, "nameserver %s\n", s)
	}
	if len(searches) > 0 {
		fmt.Fprintf(&out, "search %s\n", strings.Join(searches[:min(len(searches), maxSearches)], " "))
	}
	if len(options) > 0 {
		fmt.Fprintf(&out, "options %s\n", strings.Join(options, " "))
	}
	return out.String()
}

// distinct returns the words without repetitions, each where it was first.
func distinct(words []string) []string {
	var out []string
	for _, word := range words {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// mergeOptions adds a pod's resolver options, which replace those of the same name. For example,
// ndots:2 replaces ndots:5.
func mergeOptions(options []string, own []corev1.PodDNSConfigOption) []string {
	for _, o := range own {
		options = slices.DeleteFunc(options, func(known string) bool {
			name, _, _ := strings.Cut(known, ":")
			return name == o.Name
		})
		if o.Value != nil && *o.Value != "" {
			options = append(options, o.Name+":"+*o.Value)
		} else {
			options = append(options, o.Name)
		}
	}
	return options
}

package sidecar

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Bounds of the durations. OCM calls an add-on unavailable when its lease on
// the managed cluster was not renewed for 5 minutes.
const (
	minLeaseDuration = time.Second
	maxLeaseDuration = 5 * time.Minute
	maxStartupDelay  = time.Hour
)

// Validate reports everything that is wrong with the options, in one line.
func (o *Options) Validate() error {
	var p problems
	p.name("-"+flagLeaseName, o.LeaseName, "the lease's name", validation.IsDNS1123Subdomain)
	p.name("-"+flagLeaseNamespace, o.LeaseNamespace, "the lease's namespace, which on the hub is the managed cluster's name", validation.IsDNS1123Label)
	switch o.LeaseLocation {
	case OnHub, OnManaged:
	default:
		p.add("-"+flagLeaseLocation, string(o.LeaseLocation), "give %s or %s", OnHub, OnManaged)
	}
	if o.Secret != "" {
		p.name("-"+flagSecret, o.Secret, "the secret's name", validation.IsDNS1123Subdomain)
	}
	p.name("$"+envWatchNamespace, o.WatchNamespace, "the secret's namespace", validation.IsDNS1123Label)
	p.name("$"+envPodName, o.PodName, "the name of the pod whose readiness counts", validation.IsDNS1123Subdomain)
	p.name("$"+envPodNamespace, o.PodNamespace, "the namespace of that pod", validation.IsDNS1123Label)
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.add("-"+flagLeaseDuration, o.LeaseDuration.String(), "give seconds from %.0f to %.0f", minLeaseDuration.Seconds(), maxLeaseDuration.Seconds())
	}
	if o.StartupDelay < 0 || o.StartupDelay > maxStartupDelay {
		p.add("-"+flagStartupDelay, o.StartupDelay.String(), "give seconds from 0 to %.0f", maxStartupDelay.Seconds())
	}
	if o.HealthAddress != off {
		if _, err := hostOf(o.HealthAddress); err != nil {
			p.add("-"+flagHealthAddress, o.HealthAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultHealthAddress)
		}
	}
	o.validateMetrics(&p)
	return p.err()
}

// off is the address that switches a server off.
const off = "0"

func (o *Options) validateMetrics(p *problems) {
	if o.MetricsAddress == off {
		return
	}
	host, err := hostOf(o.MetricsAddress)
	switch {
	case err != nil:
		p.add("-"+flagMetricsAddress, o.MetricsAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultMetricsAddress)
	case !isLoopback(host):
		p.add("-"+flagMetricsAddress, o.MetricsAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to switch it off")
	}
}

// hostOf is the host of an address to listen on.
func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("it is no host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is no port from 0 to 65535", port)
	}
	return host, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// problems are what is wrong with flags and environment variables.
type problems []string

func (p *problems) add(what, value, format string, args ...any) {
	*p = append(*p, fmt.Sprintf("%s %q: ", what, value)+fmt.Sprintf(format, args...))
}

func (p *problems) name(what, value, meaning string, check func(string) []string) {
	if value == "" {
		*p = append(*p, fmt.Sprintf("%s is required: give %s", what, meaning))
		return
	}
	if faults := check(value); len(faults) > 0 {
		p.add(what, value, "%s is not valid: %s", meaning, strings.Join(faults, ", "))
	}
}

func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("invalid flags or environment: %s", strings.Join(*p, "; "))
}

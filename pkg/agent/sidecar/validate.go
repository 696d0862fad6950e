package sidecar

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
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
	var p flagcheck.Problems
	p.Name("-"+flagLeaseName, o.LeaseName, "the lease's name", validation.IsDNS1123Subdomain)
	p.Name("-"+flagLeaseNamespace, o.LeaseNamespace, "the lease's namespace, which on the hub is the managed cluster's name", validation.IsDNS1123Label)
	switch o.LeaseLocation {
	case OnHub, OnManaged:
	default:
		p.Add("-"+flagLeaseLocation, string(o.LeaseLocation), "give %s or %s", OnHub, OnManaged)
	}
	if o.Secret != "" {
		p.Name("-"+flagSecret, o.Secret, "the secret's name", validation.IsDNS1123Subdomain)
	}
	p.Name("$"+envWatchNamespace, o.WatchNamespace, "the secret's namespace", validation.IsDNS1123Label)
	p.Name("$"+envPodName, o.PodName, "the name of the pod whose readiness counts", validation.IsDNS1123Subdomain)
	p.Name("$"+envPodNamespace, o.PodNamespace, "the namespace of that pod", validation.IsDNS1123Label)
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.Add("-"+flagLeaseDuration, o.LeaseDuration.String(), "give seconds from %.0f to %.0f", minLeaseDuration.Seconds(), maxLeaseDuration.Seconds())
	}
	if o.StartupDelay < 0 || o.StartupDelay > maxStartupDelay {
		p.Add("-"+flagStartupDelay, o.StartupDelay.String(), "give seconds from 0 to %.0f", maxStartupDelay.Seconds())
	}
	if o.HealthAddress != off {
		if _, err := flagcheck.Host(o.HealthAddress); err != nil {
			p.Add("-"+flagHealthAddress, o.HealthAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultHealthAddress)
		}
	}
	o.validateMetrics(&p)
	return p.Err("invalid flags or environment")
}

// off is the address that switches a server off.
const off = "0"

func (o *Options) validateMetrics(p *flagcheck.Problems) {
	if o.MetricsAddress == off {
		return
	}
	host, err := flagcheck.Host(o.MetricsAddress)
	switch {
	case err != nil:
		p.Add("-"+flagMetricsAddress, o.MetricsAddress, "%s: give host:port, such as %s, or 0 to switch it off", err, defaultMetricsAddress)
	case !flagcheck.IsLoopback(host):
		p.Add("-"+flagMetricsAddress, o.MetricsAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to switch it off")
	}
}

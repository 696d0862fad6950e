package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Bounds of the lease's duration: OCM calls the add-on unavailable when the
// lease was not renewed for 5 minutes.
const (
	minLeaseDuration = 4 * time.Second
	maxLeaseDuration = 5 * time.Minute
)

// Validate reports everything that is wrong with the options, in one line.
func (o *Options) Validate() error {
	var p problems
	o.validateNames(&p)
	if o.HubKubeconfig != "" && o.explicit(manifests.FlagHubKubeconfigSecret) {
		p.add(manifests.FlagHubKubeconfig, o.HubKubeconfig, "it excludes --%s: give one of them", manifests.FlagHubKubeconfigSecret)
	}
	if o.HubKubeconfig == "" && o.explicit(manifests.FlagHubKubeconfig) {
		p.add(manifests.FlagHubKubeconfig, "", "give a file, or leave the flag out to use the secret")
	}
	if (o.PodName == "") != (o.PodUID == "") {
		p.add(manifests.FlagPodName, o.PodName, "it goes with --%s: give both or none", manifests.FlagPodUID)
	}
	if _, err := hostPort(o.HealthBindAddress); err != nil {
		p.add(manifests.FlagHealthBindAddress, o.HealthBindAddress, "%s: give host:port, such as :8081", err)
	}
	o.validateMetrics(&p)
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.add(manifests.FlagLeaseDuration, o.LeaseDuration, "give a duration from %s to %s", minLeaseDuration, maxLeaseDuration)
	}
	return p.err()
}

// validateNames checks the flags that the uninstall command has too.
func (o *Options) validateNames(p *problems) {
	p.name(manifests.FlagClusterName, o.ClusterName, "the managed cluster's name on the hub", validation.IsDNS1123Label)
	p.name(manifests.FlagNamespace, o.Namespace, "the install namespace", validation.IsDNS1123Label)
	p.name(manifests.FlagHubKubeconfigSecret, o.HubKubeconfigSecret, "the secret's name", validation.IsDNS1123Subdomain)
	if o.Hosted && o.Kubeconfig == "" {
		p.add(manifests.FlagHosted, true, "give the managed cluster's kubeconfig by --%s, which another cluster's agent cannot do without", manifests.FlagKubeconfig)
	}
	// Written so that NaN is refused.
	if !(o.KubeAPIQPS > 0) {
		p.add(manifests.FlagKubeAPIQPS, o.KubeAPIQPS, "give a number above 0")
	}
	if o.KubeAPIBurst < 1 {
		p.add(manifests.FlagKubeAPIBurst, o.KubeAPIBurst, "give a number above 0")
	}
}

func (o *Options) validateMetrics(p *problems) {
	if !o.metricsEnabled() {
		return
	}
	host, err := hostPort(o.MetricsBindAddress)
	switch {
	case err != nil:
		p.add(manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"%s: give host:port, such as localhost:8080, or 0 to switch it off", err)
	case !isLoopback(host):
		p.add(manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to switch it off")
	}
}

func (o *Options) metricsEnabled() bool {
	return o.MetricsBindAddress != "0"
}

// hostPort returns the host of an address to listen on.
func hostPort(address string) (string, error) {
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

// problems are what is wrong with flags.
type problems []string

func (p *problems) add(flag string, value any, format string, args ...any) {
	*p = append(*p, fmt.Sprintf("--%s %q: ", flag, fmt.Sprint(value))+fmt.Sprintf(format, args...))
}

// name checks a flag that names an object.
func (p *problems) name(flag, value, meaning string, check func(string) []string) {
	if value == "" {
		*p = append(*p, fmt.Sprintf("--%s is required: give %s", flag, meaning))
		return
	}
	if faults := check(value); len(faults) > 0 {
		p.add(flag, value, "%s is not valid: %s", meaning, strings.Join(faults, ", "))
	}
}

func (p *problems) err() error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("invalid flags: %s", strings.Join(*p, "; "))
}

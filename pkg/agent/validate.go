package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/internal/flagcheck"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Bounds of the lease's duration: OCM calls the add-on unavailable when the
// lease was not renewed for 5 minutes.
const (
	minLeaseDuration = 4 * time.Second
	maxLeaseDuration = 5 * time.Minute
)

// invalidFlags begins the error about flags that cannot be used.
const invalidFlags = "invalid flags"

// Validate reports everything that is wrong with the options, in one line.
func (o *Options) Validate() error {
	var p flagcheck.Problems
	o.validateNames(&p)
	if o.Namespace != "" && o.Namespace == o.ClusterName {
		p.Add("--"+manifests.FlagNamespace, o.Namespace, "it is the cluster's own name, and on a hub that manages itself each ConfigMap would be its own copy: "+
			"name another install namespace")
	}
	if o.HubKubeconfig != "" && o.explicit(manifests.FlagHubKubeconfigSecret) {
		p.Add("--"+manifests.FlagHubKubeconfig, o.HubKubeconfig, "it excludes --%s: give one of them", manifests.FlagHubKubeconfigSecret)
	}
	if o.HubKubeconfig == "" && o.explicit(manifests.FlagHubKubeconfig) {
		p.Add("--"+manifests.FlagHubKubeconfig, "", "give a file, or leave the flag out to use the secret")
	}
	if (o.PodName == "") != (o.PodUID == "") {
		p.Add("--"+manifests.FlagPodName, o.PodName, "it goes with --%s: give both or none", manifests.FlagPodUID)
	}
	if _, err := flagcheck.Host(o.HealthBindAddress); err != nil {
		p.Add("--"+manifests.FlagHealthBindAddress, o.HealthBindAddress, "%s: give host:port, such as :8081", err)
	}
	o.validateMetrics(&p)
	if o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration {
		p.Add("--"+manifests.FlagLeaseDuration, o.LeaseDuration, "give a duration from %s to %s", minLeaseDuration, maxLeaseDuration)
	}
	if o.DeletionHold < 0 || o.DeletionHold > manifests.MaxDeletionHold {
		p.Add("--"+manifests.FlagDeletionHold, o.DeletionHold, "give a duration up to %s, or 0 to switch it off", manifests.MaxDeletionHold)
	}
	return p.Err(invalidFlags)
}

// validateNames checks the flags that the uninstall command has too.
func (o *Options) validateNames(p *flagcheck.Problems) {
	p.Name("--"+manifests.FlagClusterName, o.ClusterName, "the managed cluster's name on the hub", validation.IsDNS1123Label)
	p.Name("--"+manifests.FlagNamespace, o.Namespace, "the install namespace", validation.IsDNS1123Label)
	p.Name("--"+manifests.FlagHubKubeconfigSecret, o.HubKubeconfigSecret, "the secret's name", validation.IsDNS1123Subdomain)
	if o.Hosted && o.Kubeconfig == "" {
		p.Add("--"+manifests.FlagHosted, true, "give the managed cluster's kubeconfig by --%s, which another cluster's agent cannot do without", manifests.FlagKubeconfig)
	}
	// Written so that NaN is refused.
	if !(o.KubeAPIQPS > 0) {
		p.Add("--"+manifests.FlagKubeAPIQPS, o.KubeAPIQPS, "give a number above 0")
	}
	if o.KubeAPIBurst < 1 {
		p.Add("--"+manifests.FlagKubeAPIBurst, o.KubeAPIBurst, "give a number above 0")
	}
}

func (o *Options) validateMetrics(p *flagcheck.Problems) {
	if !o.metricsEnabled() {
		return
	}
	host, err := flagcheck.Host(o.MetricsBindAddress)
	switch {
	case err != nil:
		p.Add("--"+manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"%s: give host:port, such as localhost:8080, or 0 to switch it off", err)
	case !flagcheck.IsLoopback(host):
		p.Add("--"+manifests.FlagMetricsBindAddress, o.MetricsBindAddress,
			"metrics are served without authorization, so on a loopback address only: give localhost:PORT, or 0 to switch it off")
	}
}

func (o *Options) metricsEnabled() bool {
	return o.MetricsBindAddress != "0"
}

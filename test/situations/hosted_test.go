//go:build situations && long

package situations

import (
	"slices"
	"testing"
)

// TestHosted runs the situations on the clusters in hosted mode.
func TestHosted(t *testing.T) {
	var clusters []*cluster
	for _, c := range load(t).clusters {
		if c.hosted() {
			clusters = append(clusters, c)
		}
	}
	if len(clusters) == 0 {
		t.Fatalf("%s: no cluster in hosted mode", hostedEnv)
	}
	situations := []situation{{"9_hosted_managed_kubeconfig", managedKubeconfig}}
	for _, s := range slices.Concat(selection, settings, further) {
		situations = append(situations, situation{"9_hosted_" + s.name, s.run})
	}
	runOn(t, clusters, situations)
}

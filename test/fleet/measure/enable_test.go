package measure

import (
	"testing"

	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
)

// TestPerCluster: what a controller sends however many clusters there are is not among the costs of a cluster.
func TestPerCluster(t *testing.T) {
	sum, list := perCluster(flows.Counts{"patch manifestworks": 4, flows.Leases: 1}, flows.Counts{
		"patch manifestworks": 10, "events": 3, "get manifestworks": 0, flows.Leases: 100, flows.Watches: 50, "authentication.k8s.io": 7}, 2)
	if sum != 4.5 || list != "(events 1.5, patch manifestworks 3)" {
		t.Errorf("got %v %s", sum, list)
	}
}

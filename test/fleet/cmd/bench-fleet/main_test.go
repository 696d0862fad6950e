package main

import (
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/test/fleet/bench"
)

// TestNameOf: a run does not replace the file of one that measured something else.
func TestNameOf(t *testing.T) {
	steps := []string{"join", "enable"}
	for _, c := range []struct {
		options bench.Options
		want    string
	}{
		{bench.Options{Clusters: 500}, "fleet-500"},
		{bench.Options{Clusters: 500, Steps: steps}, "fleet-500-join-enable"},
		{bench.Options{Clusters: 500, Steps: steps, EnableOn: 50}, "fleet-500-join-enable-on-50"},
		{bench.Options{Clusters: 500, Steps: steps, Lease: 5 * time.Minute}, "fleet-500-join-enable-lease-5m0s"},
	} {
		if got := nameOf(c.options); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

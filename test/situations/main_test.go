//go:build situations

package situations

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// situation is one of the registration agent's.
type situation struct {
	name string
	run  func(t *testing.T, c *cluster)
}

// The first four are those that OCM's registration agent itself knows
// (pkg/registration/spoke, RunSpokeAgent).
var firstFour = []situation{
	{"1_bootstrap_kubeconfig_valid_no_hub_kubeconfig_yet", joins},
	{"2_both_valid_and_restarts", restarts},
	{"3_bootstrap_kubeconfig_expired_hub_kubeconfig_valid", bootstrapExpired},
	{"4_neither_valid", neitherValid},
}

// TestSituations runs the first four and the settings side by side, on whichever
// managed clusters there are.
func TestSituations(t *testing.T) {
	env := load(t)
	var clusters []*cluster
	for _, c := range env.clusters {
		if !c.hosted() {
			clusters = append(clusters, c)
		}
	}
	runOn(t, clusters, slices.Concat(firstFour, settings))
}

// runOn deals the situations out to the clusters, which work side by side.
func runOn(t *testing.T, clusters []*cluster, situations []situation) {
	t.Helper()
	for i, c := range clusters {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for n, s := range situations {
				if n%len(clusters) == i {
					t.Run(s.name, func(t *testing.T) { c.play(t, s) })
				}
			}
		})
	}
}

// play runs a situation on a cluster that has joined, without the add-on, and
// leaves it as it was.
func (c *cluster) play(t *testing.T, s situation) {
	start := time.Now()
	c.reset(t)
	t.Cleanup(func() {
		if t.Failed() {
			c.explain(t)
		}
	})
	s.run(t, c)
	took := fmt.Sprintf("%s on %s: %s", s.name, c.name, time.Since(start).Round(100*time.Millisecond))
	t.Log(took)
	durations.add(took)
}

func TestMain(m *testing.M) {
	code := m.Run()
	durations.print(os.Stdout)
	os.Exit(code)
}

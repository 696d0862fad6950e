//go:build situations

package situations

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// situation is a situation that the registration agent can be in.
type situation struct {
	name string
	run  func(t *testing.T, c *cluster)
}

// The first four are those that OCM's registration agent itself knows
// (pkg/registration/spoke, RunSpokeAgent).
const (
	first  = "1_bootstrap_kubeconfig_valid_no_hub_kubeconfig_yet"
	second = "2_both_valid_and_restarts"
	third  = "3_hub_kubeconfig_valid_bootstrap_kubeconfig_"
	fourth = "4_neither_valid_bootstrap_kubeconfig_"
)

// selection are the situations of make test, further (further_test.go) the others that
// a managed cluster of any kind can be in. They are dealt out in this order.
var selection = []situation{
	{first, joins},
	{second, restarts},
	{third + string(expiredUser), bootstrapInvalid(expiredUser)},
	{fourth + string(expiredUser), neitherValid(expiredUser)},
	{"hub_kubeconfig_invalid_files", filesInvalid},
	{"hub_kubeconfig_invalid_address", addressInvalid},
	{"hub_kubeconfig_invalid_key_missing", keyMissing},
	{third + string(unknownUser), bootstrapInvalid(unknownUser)},
	{"restart_when_the_bootstrap_kubeconfig_changes", bootstrapChanges},
	{third + string(unparsable), bootstrapInvalid(unparsable)},
}

// TestSituations runs them side by side, on whichever managed clusters there are.
func TestSituations(t *testing.T) {
	env := load(t)
	var clusters []*cluster
	for _, c := range env.clusters {
		if !c.hosted() {
			clusters = append(clusters, c)
		}
	}
	runOn(t, clusters, slices.Concat(selection, settings, further))
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

//go:build e2e

package lease

import (
	"testing"
	"time"
)

// scenarios run in this order on the example, which each leaves as it was.
var scenarios = []struct {
	name string
	run  func(t *testing.T, env *environment)
}{
	{"the_lease_of_a_shell_script_is_kept_on_the_hub", leaseIsKept},
	{"the_sidecar_may_do_what_it_needs_and_no_more", accessIsDenied},
	{"a_deleted_lease_is_created_again", deletedLease},
	{"a_rotated_secret_is_used_by_the_next_renewal", rotatedSecret},
	{"a_deleted_secret_comes_back_and_is_used", deletedSecret},
	{"a_crash_stops_the_renewals_and_the_return_resumes_them", crash},
	{"a_hub_that_is_restarted_costs_no_more_than_the_outage", hubRestart},
	{"every_bad_secret_is_named_and_forgiven", badSecrets},
	{"the_sidecar_runs_on_a_developers_machine", developersMachine},
	{"the_sidecar_is_small", memory},
}

func TestScenarios(t *testing.T) {
	env := loadEnvironment(t)
	// OCM looks at leases every 30 s: what it says of this one is seen to below.
	available := startManaged(t, env)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			start := time.Now()
			s.run(t, env)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
	t.Run("a_lease_on_the_managed_cluster_makes_the_add-on_Available", available)
}

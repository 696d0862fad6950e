//go:build kind

package pods

import (
	"testing"
	"time"
)

// scenarios run in this order, each on what those before it have left.
var scenarios = []struct {
	name string
	run  func(t *testing.T, w *world)
}{
	{"kustomize_installs_both_programs", kustomizeInstalls},
	{"a_conflict_on_the_leaf_hub_is_seen_on_the_global_hub", addOnTravels},
	{"a_policy's_compliance_travels", policyTravels},
	{"the_decisions_of_OCM's_own_placement_controller_travel", placementTravels},
	{"placement_rules_and_subscriptions_travel", applicationsTravel},
	{"the_original's_manifest_starts_this_image", originalManifestInstalls},
	{"envsubst_installs_the_same", templateInstalls},
	{"restarted_pods_write_nothing", podsRestart},
	{"the_standby_takes_over", standbyTakesOver},
	{"the_database_is_away_for_30_seconds", databaseAway},
	{"what_is_wrong_with_the_database's_secrets_is_said", secretsWrong},
	{"the_programs_may_do_nothing_else", rightsAreLeast},
	{"metrics_are_for_whom_the_hub_authorizes", metricsAuthorized},
	{"the_pods_meet_the_restricted_level", podsRestricted},
	{"no_password_is_in_logs_events_or_pods", passwordHidden},
	{"uninstalling_leaves_nothing", uninstall},
}

func TestPods(t *testing.T) {
	env, err := loadEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, env)
	for _, s := range scenarios {
		passed := t.Run(s.name, func(t *testing.T) {
			defer w.explain(t)
			start := time.Now()
			s.run(t, w)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
		if !passed {
			t.Fatal("those after it build on it, and are not run")
		}
	}
}

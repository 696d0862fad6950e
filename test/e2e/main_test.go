//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// scenario is one thing that users rely on.
type scenario struct {
	name string
	run  func(t *testing.T, env *environment)
}

// scenarios run in this order, on one environment on which the add-on is
// enabled; each leaves it as it found it. Any one of them can be run alone:
// go test -tags e2e ./test/e2e -v -run 'TestScenarios/<name>'.
var scenarios = []scenario{
	{"enabling_installs_the_agent_by_ManifestWork", agentArrivesByManifestWork},
	{"enabling_honours_the_install_namespace", installNamespaceIsHonoured},
	{"the_add-on_is_Available_by_its_lease", availableByLease},
	{"the_certificate_is_approved_by_the_controller_and_used", certificateIsApprovedAndUsed},

	// docs/design.md#rule-1-source and docs/design.md#rule-2-copy
	{"a_ConfigMap_is_copied_changed_and_deleted", copyUpdateDelete},
	{"binary_data_is_copied", binaryDataIsCopied},
	{"an_immutable_ConfigMap_is_replaced", immutableIsReplaced},
	{"a_ConfigMap_at_the_limits_of_the_API_is_copied", limitsAreCopied},
	{"a_change_arrives_fast", changeLatency},
	{"the_opt-out_label_is_honoured", optOut},
	{"each_cluster_gets_only_its_own", eachClusterGetsItsOwn},
	{"the_CA_bundle_of_the_cluster_is_untouched", rootCAIsUntouched},

	// docs/design.md#rule-3-ownership
	{"a_foreign_ConfigMap_is_left_alone", foreignIsLeftAlone},
	{"a_foreign_ConfigMap_can_be_given_over", foreignIsAdopted},
	// docs/design.md#rule-4-drift and docs/design.md#rule-11-contest
	{"drift_comes_back", driftComesBack},
	{"labels_and_annotations_of_others_stay", othersMetadataStays},
	{"a_contested_copy_is_paced", contestedCopyIsPaced},

	// docs/design.md#rule-9-reported
	{"a_conflict_is_reported_on_the_hub_and_heals", conflictIsReported},
	{"the_state_of_each_ConfigMap_is_reported", statesAreReported},
	// docs/kubectl.md#exit-codes
	{"the_plugin_shows_a_conflict_and_that_it_heals", pluginShowsConflict},

	// docs/design.md#hub-rbac and docs/design.md#csr
	{"the_identity_of_the_agent_may_do_what_it_needs_and_no_more", hubAccessReviews},
	{"the_certificate_of_the_agent_opens_nothing_else", realCertificateIsDenied},
	{"nothing_is_bound_to_the_group_of_all_agents", sharedGroupHasNothing},
	{"the_agent_is_confined_on_its_own_cluster", managedAccessReviews},

	{"an_AddOnDeploymentConfig_overrides_what_is_shipped", configOverrides},
	{"the_stored_add-on_is_converted_as_OCM_converts_it", storedIsConverted},

	// docs/design.md#credentials
	{"rotating_the_certificate_under_load_loses_nothing", rotationUnderLoad},
	{"a_secret_that_is_lost_again_and_again_comes_back", secretsComeBack},
	{"a_restarted_agent_catches_up", agentRestart},
	// docs/design.md#rule-5-prune and docs/design.md#rule-10-removals
	{"a_list_that_lacks_most_deletes_nothing_at_once", massDeletionIsHeld},
	{"a_restarted_controller_asks_for_no_new_certificate", controllerRestart},
	{"disabling_removes_the_agent_and_enabling_brings_it_back", disableAndEnable},
	{"a_ManifestWork_that_a_cluster_changed_reaches_no_other", plantedWorkReachesNobody},
	// docs/design.md#uninstall
	{"uninstalling_removes_the_copies_and_says_what_keeps_it", uninstallRemovesCopies},
	{"uninstalling_needs_no_agent", uninstallWithoutAgent},
	{"uninstalling_needs_no_room_for_its_own_ConfigMap", uninstallWithFullQuota},
	// docs/install.md#install-by-label
	{"a_label_on_a_cluster_installs_it", installedByLabel},
	{"installing_by_label_refuses_to_uninstall", installByLabelRefuses},
	{"an_upgrade_keeps_what_the_operator_configured", upgradeKeepsConfiguration},
}

func TestMain(m *testing.M) {
	code := m.Run()
	timings.print(os.Stdout)
	os.Exit(code)
}

func TestScenarios(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 2)
	if err != nil {
		t.Fatal(err)
	}
	env.requireReady(t)
	env.removeLeftovers(t)

	// Registered before anything is enabled, so that it runs whatever fails.
	for _, c := range env.clusters {
		cleanup(t, "disable the add-on on "+c.name, func(ctx context.Context) error {
			err := env.restore(ctx, c)
			if err != nil {
				env.collect(ctx, t)
			}
			return err
		})
	}
	env.enableAll(t)

	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			start := time.Now()
			s.run(t, env)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// enableAll enables the add-on, and waits until it is Available.
func (e *environment) enableAll(t *testing.T) {
	t.Helper()
	e.enableWithout(t, 0)
}

// enableWithout enables the add-on, and waits for all milestones but the last ones of each cluster.
func (e *environment) enableWithout(t *testing.T, last int) {
	t.Helper()
	defer e.collectOnFailure(t)
	var milestones []milestone
	for _, c := range e.clusters {
		all := e.startEnabling(t, c, "first", e.enableV1alpha1)
		milestones = append(milestones, all[:len(all)-last]...)
	}
	reach(t, milestones)
}

// restore brings a cluster back to where it was before the suite. The used
// certificate requests go as well: after ten for one add-on the registration
// agent stops asking, and says so nowhere on the hub.
func (e *environment) restore(ctx context.Context, c *cluster) error {
	if err := e.disable(ctx, c); err != nil {
		return err
	}
	if err := e.deleteUsedRequests(ctx, c); err != nil {
		return fmt.Errorf("delete used certificate requests: %w", err)
	}
	if c.installNamespace == ownNamespace {
		return c.deleteOwnNamespace(ctx)
	}
	return nil
}

package monitoring

import "strings"

// alertCase has the series with which an alert fires at a time, and others with which it does not, and why.
type alertCase struct {
	alert, at, summary string
	labels             map[string]string
	fires              []string
	reason             string
	quiet              []string
}

// leading is the replica that leads. Each pod has labels of its own, such as the operator's ServiceMonitor adds.
const leading = `{name="helloworld-controller",pod="a",node="1"}`

func is(state, health string) string {
	return `helloworld_fleet_clusters{state="` + state + `",health="` + health + `",pod="a",node="1"}`
}

// next is the series on the replica that leads after pod a.
func next(series string) string {
	return strings.Replace(series, `pod="a",node="1"`, `pod="b",node="2"`, 1)
}

// Values of a series when the leader changes: until the 8th minute it is that of pod a, and from the 10th on that of pod b.
func until(value string) string { return " = " + value + "x7 stale" }
func from(value string) string  { return " = _x10 " + value + "x200" }

// ofSet is a series of a ConfigMapReplicaSet.
func ofSet(state string) string {
	return `helloworld_replicaset_clusters{namespace="team",name="settings",state="` + state + `",pod="a",node="1"}`
}

func since(state string) string {
	return `helloworld_fleet_state_oldest_seconds{state="` + state + `",pod="a",node="1"}`
}

func inState(state string) map[string]string { return map[string]string{"state": state} }

// The cases in the order of the rules. A series is written as "SERIES = VALUES", one value a minute.
var alerts = []alertCase{
	{"HelloworldFleetNotWell", "16m", "The add-on is not well on 30% of the clusters", nil,
		[]string{is("Failed", "wrong") + " = 3x60", is("Synced", "well") + " = 7x60", is("NotEnabled", "well") + " = 90x60", is("ClusterUnavailable", "wrong") + " = 50x60"},
		"lost clusters do not count, nor those that get well by themselves",
		[]string{is("Failed", "wrong") + " = 3x60", is("Synced", "well") + " = 18x60", is("Starting", "passing") + " = 9x60", is("ClusterUnavailable", "wrong") + " = 50x60"}},
	{"HelloworldFleetNotWell", "16m", "The add-on is not well on 30% of the clusters", nil,
		[]string{is("Failed", "wrong") + until("3"), is("Synced", "well") + until("7"), next(is("Failed", "wrong")) + from("3"), next(is("Synced", "well")) + from("7")},
		"one or two clusters are no fleet", []string{is("Failed", "wrong") + " = 2x60", is("Synced", "well") + " = 3x60"}},
	{"HelloworldClusterUnavailable", "61m", "3 clusters with the add-on are lost", inState("ClusterUnavailable"),
		[]string{is("ClusterUnavailable", "wrong") + until("3"), next(is("ClusterUnavailable", "wrong")) + from("3")},
		"not for an hour", []string{is("ClusterUnavailable", "wrong") + " = 3x30 0x7 3x60"}},
	{"HelloworldClusterMissing", "61m", "1 ManagedClusterAddOns belong to no cluster", inState("NoManagedCluster"),
		[]string{is("NoManagedCluster", "wrong") + " = 1x90"}, "there is none", []string{is("NoManagedCluster", "wrong") + " = 0x90"}},
	{"HelloworldConfigurationRefused", "5m", "A cluster has had a refused configuration for 11m 0s", inState("Refused"),
		[]string{since("Refused") + " = 660x10"}, "for less than 10 minutes", []string{since("Refused") + " = 590x10"}},
	{"HelloworldAgentDegraded", "5m", "An agent has had no pod for 16m 40s", inState("Degraded"),
		[]string{since("Degraded") + " = 1000x10"}, "for less than 15 minutes", []string{since("Degraded") + " = 890x10"}},
	{"HelloworldAgentUnavailable", "5m", "An agent has been silent for 16m 40s", inState("Unavailable"),
		[]string{since("Unavailable") + " = 1000x10"}, "for less than 10 minutes", []string{since("Unavailable") + " = 590x10"}},
	{"HelloworldCertificateExpired", "5m", "The credentials of an agent expired 16m 40s ago", inState("CertificateExpired"),
		[]string{since("CertificateExpired") + " = 1000x10"}, "no cluster", []string{since("CertificateExpired") + " = 0x10"}},
	// Time begins at 0.
	{"HelloworldCertificateExpiring", "20m", "The credentials of an agent expire in 23h 33m 20s", nil,
		[]string{`helloworld_fleet_credentials_expiration_timestamp_seconds{pod="a"} = 86000x60`}, "in more than a day",
		[]string{`helloworld_fleet_credentials_expiration_timestamp_seconds{pod="a"} = 90000x60`}},
	{"HelloworldCertificateExpiring", "20m", "The credentials of an agent expire in 23h 33m 20s", nil,
		[]string{`helloworld_fleet_credentials_expiration_timestamp_seconds{pod="a"}` + until("86000"), `helloworld_fleet_credentials_expiration_timestamp_seconds{pod="b"}` + from("86000")},
		"they have expired, which is another alert's", []string{`helloworld_fleet_credentials_expiration_timestamp_seconds{pod="a"} = 0x60`}},
	{"HelloworldCertificateNotRenewed", "5m", "An agent has had no new credentials for 1h 0m 0s", inState("CertificateNotRenewed"),
		[]string{since("CertificateNotRenewed") + " = 3600x10"}, "for less than half an hour", []string{since("CertificateNotRenewed") + " = 1790x10"}},
	{"HelloworldDeletionHeld", "1m", "2 clusters hold the deletion of many copies", nil,
		// after a restore without ConfigMaps and without the AddOnDeploymentConfig
		[]string{`helloworld_fleet_clusters_holding_deletions{pod="a"} = 0 2x10`, is("DeletionHeld", "wrong") + " = 0x10", is("Refused", "wrong") + " = 2x10"},
		"it is over", []string{`helloworld_fleet_clusters_holding_deletions{pod="a"} = 2 0x10`}},
	{"HelloworldCopyFailed", "5m", "A ConfigMap has not been copied for 16m 40s", inState("Failed"),
		[]string{since("Failed") + " = 1000x10"}, "for less than 15 minutes", []string{since("Failed") + " = 890x10"}},
	{"HelloworldCopyConflict", "5m", "A ConfigMap has been in conflict for 1h 0m 0s", inState("Conflict"),
		[]string{since("Conflict") + " = 3600x10"}, "another state", []string{since("Conflict") + " = 0x10", since("Synced") + " = 3600x10"}},
	{"HelloworldCopyContested", "5m", "Another writer has undone a copy for 1h 0m 0s", inState("Contested"),
		[]string{since("Contested") + " = 3600x10"}, "for less than half an hour", []string{since("Contested") + " = 1790x10"}},
	{"HelloworldSyncStuck", "5m", "A cluster has not synced for 16m 40s", nil,
		[]string{since("Waiting") + " = 1000x10", since("Syncing") + " = 0x10"}, "another cluster each time", []string{since("Syncing") + " = 890x10", since("Starting") + " = 5000x10"}},
	{"HelloworldEnablingStuck", "5m", "OCM has missed the lease of an agent for 16m 40s", map[string]string{"change": "enabling"},
		[]string{`helloworld_fleet_in_progress_oldest_seconds{change="enabling",pod="a"} = 1000x10`}, "an uninstall is another alert's",
		[]string{`helloworld_fleet_in_progress_oldest_seconds{change="enabling",pod="a"} = 890x10`, `helloworld_fleet_in_progress_oldest_seconds{change="uninstalling",pod="a"} = 9000x10`}},
	{"HelloworldUninstallingStuck", "5m", "An uninstall has been in progress for 33m 20s", map[string]string{"change": "uninstalling"},
		[]string{`helloworld_fleet_in_progress_oldest_seconds{change="uninstalling",pod="a"} = 2000x10`}, "for less than half an hour",
		[]string{`helloworld_fleet_in_progress_oldest_seconds{change="uninstalling",pod="a"} = 1790x10`}},

	{"HelloworldControllerAbsent", "20m", "The controller of the add-on is not scraped", nil,
		[]string{`leader_election_master_status{name="helloworld-replicaset-controller",pod="r"} = 1x60`}, "it is there, though it does not lead",
		[]string{"leader_election_master_status" + leading + " = 0x60"}},
	{"HelloworldControllerAbsent", "20m", "The controller of the add-on is not scraped", nil,
		[]string{is("Synced", "well") + " = 1x2 stale"}, "it has no leader election", []string{is("Synced", "well") + " = 1x60"}},
	{"HelloworldControllerNoLeader", "10m", "No replica of helloworld-controller leads", map[string]string{"name": "helloworld-controller"},
		[]string{"leader_election_master_status" + leading + " = 0x60", next("leader_election_master_status"+leading) + " = 0x60",
			`leader_election_master_status{name="helloworld-replicaset-controller",pod="r"} = 1x60`}, "the other replica leads; and the Lease of another program is no matter",
		[]string{"leader_election_master_status" + leading + " = 0x60", next("leader_election_master_status"+leading) + " = 1x60",
			`leader_election_master_status{name="other",pod="o"} = 0x60`}},
	{"HelloworldControllerNotStarted", "20m", "The controller of the add-on leads and does not start", inState("Synced"),
		[]string{"leader_election_master_status" + leading + " = 1x60", next("leader_election_master_status"+leading) + " = 0x60"}, "the leader has just changed",
		[]string{"leader_election_master_status" + leading + " = 1x60", is("Synced", "well") + " = 1x15 _x9 1x30"}},
	{"HelloworldControllerNotStarted", "40m", "The controller of the add-on leads and does not start", inState("Synced"),
		[]string{"leader_election_master_status" + leading + " = 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1 0 0 1"}, "another alert's: no replica leads",
		[]string{"leader_election_master_status" + leading + " = 0x60"}},
	{"HelloworldReplicaSetControllerGone", "20m", "The controller of ConfigMapReplicaSets is no longer scraped", map[string]string{"name": "helloworld-replicaset-controller"},
		[]string{`leader_election_master_status{name="helloworld-replicaset-controller",pod="r"} = 1x2 stale`}, "it was never installed",
		[]string{"leader_election_master_status" + leading + " = 1x2 stale"}},
	{"HelloworldReplicaSetControllerGone", "20m", "The controller of ConfigMapReplicaSets is no longer scraped", map[string]string{"name": "helloworld-replicaset-controller"},
		[]string{`leader_election_master_status{name="helloworld-replicaset-controller",job="old",pod="r"} = 1x2 stale`}, "only the job has another name",
		[]string{`leader_election_master_status{name="helloworld-replicaset-controller",job="old",pod="r"} = 1x2 stale`, `leader_election_master_status{name="helloworld-replicaset-controller",job="new",pod="r"} = _x3 1x60`}},
	{"HelloworldControllerErrors", "30m", "a retries again and again", map[string]string{"pod": "a"},
		[]string{`helloworld_controller_errors_total{pod="a"} = 0+2x60`}, "a few at the start", []string{`helloworld_controller_errors_total{pod="a"} = 0 9 12x60`}},
	{"HelloworldControllerQueueGrowing", "40m", "The queue mirrors of a controller does not get empty", map[string]string{"name": "mirrors", "pod": "a"},
		[]string{`workqueue_depth{name="mirrors",pod="a"} = 101+10x60`, `helloworld_controller_errors_total{pod="a"} = 0x60`},
		"the queue of another program, and a queue that gets empty", []string{`workqueue_depth{name="mirrors",pod="b"} = 101+10x60`, `workqueue_depth{name="mirrors",pod="a"} = 500x20 0 500x40`, `helloworld_controller_errors_total{pod="a"} = 0x60`}},

	{"HelloworldReplicaSetFailing", "16m", "ConfigMapReplicaSet team/settings has 2 clusters that are failed", map[string]string{"namespace": "team", "name": "settings", "state": "failed"},
		[]string{ofSet("failed") + until("2"), next(ofSet("failed")) + from("2"), ofSet("timed_out") + " = 0x60"}, "clusters that are synced", []string{ofSet("synced") + " = 2x60"}},
	{"HelloworldReplicaSetStuck", "180m", "The rollout of ConfigMapReplicaSet team/settings does not go on", map[string]string{"namespace": "team", "name": "settings"},
		[]string{ofSet("total") + " = 10x200", ofSet("synced") + " = 5x200", ofSet("updated") + " = 5x200"},
		"a cluster was updated an hour ago", []string{ofSet("total") + " = 10x200", ofSet("synced") + " = 5x200", ofSet("updated") + " = 5x120 6x80"}},
	{"HelloworldReplicaSetStuck", "121m", "The rollout of ConfigMapReplicaSet team/settings does not go on", map[string]string{"namespace": "team", "name": "settings"},
		[]string{ofSet("total") + until("10"), ofSet("synced") + until("5"), next(ofSet("total")) + from("10"), next(ofSet("synced")) + from("5")},
		"every cluster is synced", []string{ofSet("total") + " = 10x200", ofSet("synced") + " = 10x200"}},

	{"HelloworldAgentCopiesNotSynced", "31m", "2 ConfigMaps of the agent are conflict", inState("conflict"),
		[]string{`helloworld_agent_configmaps{state="conflict"} = 2x60`}, "synced", []string{`helloworld_agent_configmaps{state="synced"} = 2x60`, `helloworld_agent_configmaps{state="conflict"} = 0x60`}},
	{"HelloworldAgentDeletionHeld", "1m", "The agent holds the deletion of 5 copies", inState("held"),
		[]string{`helloworld_agent_configmaps{state="held"} = 5x60`}, "none is held", []string{`helloworld_agent_configmaps{state="held"} = 0x60`}},
	{"HelloworldAgentCredentialsProblem", "16m", "The agent cannot use its credentials for the hub: SecretMissing", map[string]string{"reason": "SecretMissing"},
		[]string{`helloworld_agent_hub_credentials_problem{reason="SecretMissing"} = 1x60`}, "the problem is over", []string{`helloworld_agent_hub_credentials_problem{reason="SecretMissing"} = 1x5 0x60`}},
	{"HelloworldAgentCertificateExpiring", "20m", "The agent's credentials for the hub expire in 23h 33m 20s", nil,
		[]string{"helloworld_agent_hub_certificate_expiration_timestamp_seconds = 86000x60"}, "in more than a day", []string{"helloworld_agent_hub_certificate_expiration_timestamp_seconds = 90000x60"}},
	{"HelloworldAgentCertificateExpiring", "20m", "The agent's credentials for the hub have expired", nil,
		[]string{"helloworld_agent_hub_certificate_expiration_timestamp_seconds = 600x60"}, "they are not known", nil},
	{"KlusterletAddonLeaseNotRenewed", "5m", "The lease sidecar has not renewed its lease for 5m 0s", nil,
		[]string{"klusterlet_addon_lease_seconds_since_renewal = 300x60", "klusterlet_addon_lease_duration_seconds = 60x60"},
		"within the duration", []string{"klusterlet_addon_lease_seconds_since_renewal = 600x60", "klusterlet_addon_lease_duration_seconds = 600x60"}},
	{"KlusterletAddonLeaseNeverRenewed", "12m", "The lease sidecar has not renewed its lease since it started", nil,
		[]string{"klusterlet_addon_lease_duration_seconds = 60x60"},
		"renewed", []string{"klusterlet_addon_lease_duration_seconds = 60x60", "klusterlet_addon_lease_seconds_since_renewal = _ 60x60"}},

	{"HubOfHubsStatusSyncGone", "30m", "hub-of-hubs-status-sync is no longer scraped", nil,
		[]string{`hub_of_hubs_status_sync_kind_available{kind="Policy",pod="s"} = 1x2 stale`}, "another pod took over, with another job and node",
		[]string{`hub_of_hubs_status_sync_kind_available{kind="Policy",pod="s",job="old",node="1"} = 1x2 stale`, `hub_of_hubs_status_sync_kind_available{kind="Policy",pod="t",job="new",node="2"} = _x2 1x60`}},
	{"HubOfHubsStatusSyncErrors", "50m", "hub-of-hubs-status-sync fails by the reason api", map[string]string{"reason": "api"},
		[]string{`hub_of_hubs_status_sync_errors_total{kind="Policy",reason="api",pod="s"} = 0+0.2x60`}, "conflicts are retried, and the others are over",
		[]string{`hub_of_hubs_status_sync_errors_total{kind="Policy",reason="api",pod="s"} = 7x60`, `hub_of_hubs_status_sync_errors_total{kind="Policy",reason="conflict",pod="s"} = 0+1x60`}},
	{"HubOfHubsStatusSyncSlow", "40m", "The status on the global hub is 4m 48s late", nil,
		[]string{`hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="60",pod="s"} = 0x60`, `hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="300",pod="s"} = 0+10x60`,
			`hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="+Inf",pod="s"} = 0+10x60`},
		"within a minute", []string{`hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="60",pod="s"} = 0+10x60`, `hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="300",pod="s"} = 0+10x60`,
			`hub_of_hubs_status_sync_lag_seconds_bucket{kind="Policy",le="+Inf",pod="s"} = 0+10x60`}},
	{"HubOfHubsKindUnavailable", "61m", "The global hub does not serve Policy", map[string]string{"kind": "Policy"},
		[]string{`hub_of_hubs_status_sync_kind_available{kind="Policy",pod="s"} = 0x90`}, "it is served", []string{`hub_of_hubs_status_sync_kind_available{kind="Policy",pod="s"} = 1x90`}},
	{"HubOfHubsStatusShortened", "61m", "2 objects of the kind Placement have a shortened status", map[string]string{"kind": "Placement"},
		[]string{`hub_of_hubs_status_sync_objects_shortened{kind="Placement",pod="s"} = 2x90`}, "none is", []string{`hub_of_hubs_status_sync_objects_shortened{kind="Placement",pod="s"} = 0x90`}},
	{"HubOfHubsRivalPropagator", "16m", "A policy propagator writes the status of policies as well", nil,
		[]string{`hub_of_hubs_status_sync_policy_propagator_writes_status{pod="s"} = 1x60`}, "none does", []string{`hub_of_hubs_status_sync_policy_propagator_writes_status{pod="s"} = 0x60`}},
	{"HubOfHubsDatabaseNotMigrated", "61m", "The database does not log which objects changed", nil,
		[]string{`hub_of_hubs_status_sync_change_log{pod="s"} = 0x90`}, "it does", []string{`hub_of_hubs_status_sync_change_log{pod="s"} = 1x90`}},
	{"HubOfHubsLeafHubStale", "11m", "The leaf hub hub1 is stale", map[string]string{"leaf_hub": "hub1"},
		[]string{`hub_of_hubs_status_sync_leaf_hub_stale{leaf_hub="hub1",pod="s"} = 1x60`}, "it has come back", []string{`hub_of_hubs_status_sync_leaf_hub_stale{leaf_hub="hub1",pod="s"} = 1x5 0x60`}},
	{"HubOfHubsLeafHubSilent", "11m", "The leaf hub bridge has sent no heartbeat for 4h 0m 0s", map[string]string{"leaf_hub": "bridge"},
		[]string{`hub_of_hubs_status_sync_leaf_hub_heartbeat_age_seconds{leaf_hub="bridge",pod="s"} = 14400x60`}, "it beats every hour",
		[]string{`hub_of_hubs_status_sync_leaf_hub_heartbeat_age_seconds{leaf_hub="bridge",pod="s"} = 3600x60`}},
	{"HubOfHubsStatusReportErrors", "50m", "hub-of-hubs-status-report fails by the reason database", map[string]string{"reason": "database"},
		[]string{`hub_of_hubs_status_report_errors_total{reason="database",pod="p"} = 0+1x60`}, "once", []string{`hub_of_hubs_status_report_errors_total{reason="database",pod="p"} = 0 1x60`}},
	{"HubOfHubsStatusReportBehind", "40m", "hub-of-hubs-status-report has 7 objects that it does not get written", map[string]string{"pod": "p"},
		[]string{`hub_of_hubs_status_report_pending_objects{pod="p"} = 7x60`}, "they are written in between", []string{`hub_of_hubs_status_report_pending_objects{pod="p"} = 7x20 0 7x60`}},
}

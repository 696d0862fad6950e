//go:build doctor

package doctor

import (
	"testing"
)

// hosted are faults of a cluster in hosted mode: the agents run on the hosting cluster, which $SPOKE_KUBECONFIG leads to.
var hosted = []fault{
	{name: "no managed kubeconfig", want: "AgentNotStarted", text: "Create the Secret klusterlet-cluster2/helloworld-managed-kubeconfig",
		begin: `spoke delete secret -n "$NS" helloworld-managed-kubeconfig; pods`, repair: `managed; pods`},
	{name: "no Secret", want: "SecretMissing", begin: `alone; spoke delete secret -n "$NS" $secret`, repair: `renew`},
	{name: "bootstrap kubeconfig missing", want: "RegistrationPodWaits", text: "situation 3", repair: `bootstrap`,
		begin: `spoke delete secret -n $ocm bootstrap-hub-kubeconfig`},
	{name: "situation 3: bootstrap kubeconfig expired", want: "BootstrapInvalid", advice: true, text: "situation 3", begin: `bootstrap --expired`, repair: `bootstrap`},
	{name: "situation 4: neither valid", want: "RegistrationRetries", text: "secret klusterlet-cluster2/bootstrap-hub-kubeconfig",
		begin:  `alone; bootstrap --expired; spoke delete secret -n $ocm hub-kubeconfig-secret; sandbox start "$CLUSTER/registration-agent"`,
		repair: `bootstrap; joined`},
	{name: "situation 1: no hub kubeconfig", want: "RegistrationJoins", text: "situation 1",
		begin: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'
			alone; spoke delete secret -n $ocm hub-kubeconfig-secret`,
		repair: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'; sandbox start "$CLUSTER/registration-agent"; joined`},
	{name: "hub kubeconfig without key", want: "RegistrationWaits", text: "delete secret", repair: `rejoin`,
		begin: `alone; spoke patch secret -n $ocm hub-kubeconfig-secret --type=json -p '[{"op":"remove","path":"/data/tls.key"}]'`},
	{name: "hosting cluster cut off", want: "HostingClusterUnavailable", text: "cluster1", ask: "$CLUSTER",
		begin:  `hub patch managedcluster cluster1 --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'; sandbox cut cluster1`,
		repair: `sandbox mend cluster1; hub patch managedcluster cluster1 --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'`},
	{name: "not accepted", want: "NotAccepted",
		begin:  `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"hubAcceptsClient":false}}'`,
		repair: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"hubAcceptsClient":true}}'`},
}

// TestHosted: cluster2 is managed from cluster1, and so is its add-on.
func TestHosted(t *testing.T) {
	all := worlds(t, 2)
	w := &world{cluster: all[1].cluster, namespace: "klusterlet-cluster2", ocm: "klusterlet-cluster2", kubeconfig: all[0].kubeconfig, hosting: all[0].cluster}
	w.begin(t)
	w.bringAll(t, hosted)
}

// ofSeveralHubs are faults of a cluster that chooses among two hubs, of which it has joined the first.
var ofSeveralHubs = []fault{
	{name: "situation 3: no bootstrap kubeconfig valid", want: "RegistrationExits", text: "situation 3", repair: `bootstrap; second`,
		begin: `second --expired; bootstrap --expired`},
	{name: "situation 4: none valid", want: "RegistrationExits", text: "situation 4", repair: `bootstrap; second; joined`,
		begin: `alone; second --expired; bootstrap --expired; spoke delete secret -n $ocm hub-kubeconfig-secret; sandbox start "$CLUSTER/registration-agent"`},
	{name: "second bootstrap kubeconfig missing", want: "RegistrationPodWaits", text: "bootstrap-hub-kubeconfig-hub2", repair: `second`,
		begin: `spoke delete secret -n $ocm bootstrap-hub-kubeconfig-hub2`},
	{name: "situation 1: no hub kubeconfig, the first bootstrap kubeconfig missing", want: "RegistrationPodWaits", text: "situation 1", repair: `bootstrap; sandbox start "$CLUSTER/registration-agent"; joined`,
		begin: `alone; spoke delete secret -n $ocm hub-kubeconfig-secret bootstrap-hub-kubeconfig`},
	{name: "moved to the second hub", want: "JoinedAnotherHub", text: "hubAcceptsClient", after: "ClusterUnavailable", repair: `bootstrap; alone; rejoin
			hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":60}}'`,
		begin: `hub patch managedcluster "$CLUSTER" --type=merge -p '{"spec":{"leaseDurationSeconds":5}}'; bootstrap --expired`},
}

// TestSeveralHubs: cluster1 may join two hubs.
func TestSeveralHubs(t *testing.T) {
	w := worlds(t, 1)[0]
	w.run(t, `"$KUBECTL" --kubeconfig="$HUB2_KUBECONFIG" create -f - <<END
{"apiVersion":"cluster.open-cluster-management.io/v1","kind":"ManagedCluster","metadata":{"name":"$CLUSTER"},"spec":{"hubAcceptsClient":true}}
END`)
	w.begin(t)
	w.bringAll(t, ofSeveralHubs)
}

// run runs a shell script, which has to succeed.
func (w *world) run(t *testing.T, script string) {
	t.Helper()
	if err := w.shell(t.Context(), script); err != nil {
		t.Fatal(err)
	}
}

// begin installs the add-on, enables it on the cluster, and waits until doctor finds nothing.
func (w *world) begin(t *testing.T) {
	t.Helper()
	w.run(t, `eval "$DEPLOY"; enable; hub create configmap doctor -n "$CLUSTER" --from-literal=a=b; [[ -z $HOSTING ]] || managed`)
	eventually(t, "all is well", w.well)
}

// bringAll brings about one fault after the other.
func (w *world) bringAll(t *testing.T, faults []fault) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { w.bring(t, f) })
		eventually(t, "all is well again after "+f.name, w.well)
	}
}

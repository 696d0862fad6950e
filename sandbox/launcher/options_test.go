package launcher

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

func TestValidateReportsEveryProblem(t *testing.T) {
	root := t.TempDir()
	agents := ocm.Agents{AddonAuth: ocm.AuthCSR, StatusSyncInterval: time.Minute}
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"as make calls it", Options{Dir: ".sandbox", Programs: "bin", Module: "m", Clusters: 1, Hubs: 1, Images: []string{"app=" + root}}, nil},
		{"no cluster", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1}, []string{"--clusters=0", "for example --clusters=2", "--hub-as"}},
		{"negative", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: -1}, []string{"--clusters=-1"}},
		{"too many", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 51}, []string{"--clusters=51"}},
		{"several hubs, hosted clusters, short lives", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 2, Clusters: 3, Hosted: 2, CertificateLife: 2 * time.Minute}, nil},
		{"too many hubs", Options{Dir: "d", Programs: "p", Module: "m", Clusters: 1, Hubs: 4}, []string{"--hubs=4"}},
		{"no cluster to host them", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, Hosted: 1}, []string{"--hosted=1", "at most 0"}},
		{"lives that end before they begin", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, CertificateLife: time.Minute},
			[]string{"--certificate-life=1m0s: give at least 2m0s"}},
		{"a hub that manages itself", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, HubAs: "local-cluster"}, nil},
		{"a hub that is the only managed cluster", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, HubAs: "local-cluster"}, nil},
		{"under a cluster's name", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, HubAs: "cluster1"}, []string{"--hub-as=cluster1", "has this name already"}},
		{"under no name", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, HubAs: "A_B"}, []string{"--hub-as=A_B: cannot be a cluster's name"}},
		{"agents as in a hurry", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1,
			Agents: ocm.Agents{AddonAuth: ocm.AuthToken, AddonTokenLife: 10 * time.Minute, StatusSyncInterval: 5 * time.Second}}, nil},
		{"agents as none can be", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1,
			Agents: ocm.Agents{AddonAuth: "grpc", AddonTokenLife: time.Minute, StatusSyncInterval: time.Millisecond}},
			[]string{"--addon-auth=grpc", "the drivers are csr, token", "--addon-token-life=1m0s: give at least 10m0s", "--status-sync-interval=1ms"}},
		{"a fraction of a second", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, Agents: ocm.Agents{StatusSyncInterval: 1500 * time.Millisecond}},
			[]string{"--status-sync-interval=1.5s: give whole seconds"}},
		{"a fleet alone", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Fleet: supervisor.Fleet{Clusters: 100, Cuttable: 50, HubQPS: 400, Agents: "sh -c true"}}, nil},
		{"a fleet beside clusters", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 2, Fleet: supervisor.Fleet{Clusters: 1}}, nil},
		{"a fleet as none can be", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: -1,
			Fleet: supervisor.Fleet{Clusters: 10000, Cuttable: 10001, ReadyAfter: -1, HubQPS: -1, Agents: "/no/such/program --v=2"}},
			[]string{"--clusters=-1: a sandbox has 0 to 50", "--fleet=10000", "--fleet-cuttable=10001", "--fleet-ready-after=-1ns", "--hub-qps=-1", "/no/such/program", "build it first"}},
		{"agents of no fleet", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, Fleet: supervisor.Fleet{Agents: "sh"}},
			[]string{"--fleet-agents=sh: there is no fleet"}},
		{"a directory for hostPath", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, HostPaths: []string{root}}, nil},
		{"none for hostPath", Options{Dir: "d", Programs: "p", Module: "m", Hubs: 1, Clusters: 1, HostPaths: []string{"/no/such", "options_test.go"}},
			[]string{"--allow-host-path=/no/such: stat", "--allow-host-path=options_test.go: name a directory"}},
		{"all at once", Options{Clusters: 0, Images: []string{"app"}}, []string{"--clusters=0", "--dir:", "--image:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.options.Agents == (ocm.Agents{}) {
				test.options.Agents = agents
			}
			err := test.options.Validate()
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("Validate = %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	for want, options := range map[string]Options{
		"hub cluster1 cluster2": {Hubs: 1, Clusters: 2},
		"hub hub2 cluster1":     {Hubs: 2, Clusters: 1},
	} {
		if diff := cmp.Diff(want, strings.Join(options.names(), " ")); diff != "" {
			t.Error(diff)
		}
	}
}

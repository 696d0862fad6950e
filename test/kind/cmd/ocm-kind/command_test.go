package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/test/kind/clusters"
)

func TestMembership(t *testing.T) {
	all := []string{clusters.Hub, "cluster1", "cluster2", "cluster3"}
	cases := map[string]struct {
		reason  string
		members membership
		names   []string
		want    map[string]string // the managed clusters with their hosting cluster
		wantErr bool
	}{
		"all by themselves": {
			reason: "the default: OCM's agents run on the cluster that they manage",
			names:  all,
			want:   map[string]string{"cluster1": "", "cluster2": "", "cluster3": ""},
		},
		"hosted": {
			reason:  "the last ones are in hosted mode, from the first one",
			members: membership{hosted: 2},
			names:   all,
			want:    map[string]string{"cluster1": "", "cluster2": "cluster1", "cluster3": "cluster1"},
		},
		"the hub too": {
			reason:  "the hub manages itself, and is no hosting or hosted cluster",
			members: membership{hosted: 1, hubAs: "local-cluster"},
			names:   all[:3],
			want:    map[string]string{"cluster1": "", "cluster2": "cluster1", "local-cluster": ""},
		},
		"a hub alone": {
			reason: "a second hub has no clusters of its own",
			names:  all[:1],
			want:   map[string]string{},
		},
		"no hosting cluster": {
			reason:  "the only cluster cannot be hosted",
			members: membership{hosted: 1},
			names:   all[:2],
			wantErr: true,
		},
		"negative": {
			reason:  "a number of clusters is not negative",
			members: membership{hosted: -1},
			names:   all,
			wantErr: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			managed, err := c.members.clusters(&clusters.Set{}, c.names)
			if (err != nil) != c.wantErr {
				t.Fatalf("%s: got error %v", c.reason, err)
			}
			got := map[string]string{}
			for _, cluster := range managed {
				got[cluster.Name] = ""
				if cluster.Hosting != nil {
					got[cluster.Name] = cluster.Hosting.Name
				}
			}
			if diff := cmp.Diff(c.want, got); !c.wantErr && diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestSecondHub(t *testing.T) {
	set := &clusters.Set{Options: clusters.Options{Dir: "own"}}
	var got []string
	for _, hub := range (membership{secondHub: "other"}).hubs(set) {
		got = append(got, hub.Name, hub.Kubeconfig, hub.Internal)
	}
	want := []string{"hub", "own/hub.kubeconfig", "own/hub.internal.kubeconfig", "hub2", "other/hub.kubeconfig", "other/hub.internal.kubeconfig"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

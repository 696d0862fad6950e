package controlplane

import (
	"slices"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// TestLoad checks the flags for many clients, and that a cluster without them has none of the flags.
func TestLoad(t *testing.T) {
	options := Options{Name: "hub", Dir: t.TempDir(), Address: Address(0).String()}
	few, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	many := *few
	many.Load = Load{Clusters: 1000, QPS: 400}
	for _, test := range []struct {
		flag string
		spec func(*Cluster) process.Spec
	}{
		{"--quota-backend-bytes=8589934592", (*Cluster).etcd},
		{"--etcd-compaction-interval=1m", (*Cluster).apiServer},
		{"GOMEMLIMIT=2524MiB", (*Cluster).apiServer},
		{"--kube-api-qps=400", (*Cluster).controllerManager},
		{"--kube-api-burst=800", (*Cluster).controllerManager},
	} {
		for c, want := range map[*Cluster]bool{few: false, &many: true} {
			spec := test.spec(c)
			if got := slices.Contains(append(spec.Args, spec.Env...), test.flag); got != want {
				t.Errorf("%s with load %v has %s = %v, want %v", spec.Name, c.Load, test.flag, got, want)
			}
		}
	}
}

package controlplane

import (
	"slices"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// TestLoad checks the flags and the environment for many clients and for few: what the one has, the other has not.
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
		few  bool
	}{
		{"--quota-backend-bytes=8589934592", (*Cluster).etcd, false},
		{"--etcd-compaction-interval=1m", (*Cluster).apiServer, false},
		{uncachedBindings, (*Cluster).apiServer, false},
		{"--profiling=true", (*Cluster).apiServer, false},
		{"GOGC=50", (*Cluster).apiServer, true},
		{"GOMEMLIMIT=2524MiB", (*Cluster).apiServer, false},
		{"--kube-api-qps=400", (*Cluster).controllerManager, false},
		{"--kube-api-burst=800", (*Cluster).controllerManager, false},
		{"--kube-api-qps=100", (*Cluster).controllerManager, true},
		{"--kube-api-burst=200", (*Cluster).controllerManager, true},
	} {
		for c, want := range map[*Cluster]bool{few: test.few, &many: !test.few} {
			spec := test.spec(c)
			if got := slices.Contains(append(spec.Args, spec.Env...), test.flag); got != want {
				t.Errorf("%s with load %v has %s = %v, want %v", spec.Name, c.Load, test.flag, got, want)
			}
		}
	}
}

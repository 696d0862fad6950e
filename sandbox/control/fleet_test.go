package control

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// newFleet is a sandbox with a fleet of four clusters, of which three can be cut off. Its supervisor
// acknowledges links until the test ends.
func newFleet(t *testing.T) *Sandbox {
	t.Helper()
	s := &Sandbox{dir: t.TempDir(), record: statedir.Record{Clusters: []string{"hub"}, Hubs: 1, Fleet: &statedir.Fleet{Cuttable: 3}}}
	if err := os.MkdirAll(FleetDir(s.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Write(s.fleetFile(MembersFile), FleetMembers(1, 4, 3)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			file := s.fleetFile(FleetCutFile)
			if content, err := os.ReadFile(file); err == nil {
				_ = fleet.Replace(CutDone(file), content)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

func (s *Sandbox) cutContent(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(CutDone(s.fleetFile(FleetCutFile)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", " ")
}

func TestLinksOfAFleet(t *testing.T) {
	s := newFleet(t)
	link := func(name string, up bool) func() error {
		return func() error { return s.SetLink(t.Context(), name, "hub", false, up) }
	}
	share := func(share float64, up bool) func() error {
		return func() error { _, err := s.CutShare(t.Context(), share, up); return err }
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"mend before any cut", link("fleet-0001", true), ""},
		{"cut one", link("fleet-0003", false), "fleet-0003"},
		{"cut it again", link("fleet-0003", false), "fleet-0003"},
		{"cut half of four", share(0.5, false), "fleet-0001 fleet-0002 fleet-0003"},
		{"mend a quarter of four", share(0.25, true), "fleet-0002 fleet-0003"},
		{"mend one", link("fleet-0003", true), "fleet-0002"},
		{"mend all that can be cut off", share(0.75, true), ""},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, s.cutContent(t)); diff != "" {
			t.Errorf("%s:\n%s", step.name, diff)
		}
	}
}

func TestRefusalsOfAFleet(t *testing.T) {
	s := newFleet(t)
	without := newSandbox(t)
	for _, test := range []struct {
		name, want string
		do         func() error
	}{
		{"cut a cluster without a relay", "--fleet-cuttable=3", func() error { return s.SetLink(t.Context(), "fleet-0004", "hub", false, false) }},
		{"cut a cluster that has not joined", "no cluster", func() error { return s.SetLink(t.Context(), "fleet-0005", "hub", false, false) }},
		{"cut from another hub", "one URL of hub", func() error { return s.SetLink(t.Context(), "fleet-0001", "hub2", false, false) }},
		{"cut from the old URL", "one URL of hub", func() error { return s.SetLink(t.Context(), "fleet-0001", "hub", true, false) }},
		{"cut an unknown cluster", "there are fleet-0001 and the other clusters of the fleet", func() error { return s.SetLink(t.Context(), "fleet-1", "hub", false, false) }},
		{"cut a fleet's cluster without a fleet", "no managed cluster", func() error { return without.SetLink(t.Context(), "fleet-0001", "hub", false, false) }},
		{"cut a share without a fleet", "--fleet=N", func() error { _, err := without.CutShare(t.Context(), 0.1, false); return err }},
		{"join without a fleet", "--fleet=N", func() error { _, err := without.Join(t.Context(), 1); return err }},
		{"detach a cluster that has not joined", "no cluster", func() error { return s.Detach(t.Context(), "fleet-0001", "fleet-0005") }},
		{"kubeconfig of a cluster that has not joined", "no cluster", func() error { _, err := s.FleetKubeconfig("cluster1"); return err }},
	} {
		if err := test.do(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestShareOf(t *testing.T) {
	for _, test := range []struct {
		name              string
		clusters, cutable int
		share             float64
		want              int
		err               string
	}{
		{"a tenth", 100, 100, 0.1, 10, ""},
		{"a share that is not exact in binary", 100, 100, 0.07, 7, ""},
		{"a part of a cluster is a cluster", 5, 5, 0.1, 1, ""},
		{"all", 5, 5, 1, 5, ""},
		{"a share of the fleet, not of those that can be cut off", 5000, 500, 0.1, 500, ""},
		{"more than can be cut off", 5000, 500, 0.2, 0, "--fleet-cuttable=1000"},
		{"nothing", 5, 5, 0, 0, "more than 0%"},
		{"more than all", 5, 5, 1.1, 0, "at most 100%"},
	} {
		names, err := shareOf(FleetMembers(1, test.clusters, test.cutable), test.share)
		if len(names) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: shareOf = %d clusters, %v, want %d, %q", test.name, len(names), err, test.want, test.err)
		}
		if len(names) > 0 && names[0] != "fleet-0001" {
			t.Errorf("%s: the first one is %s", test.name, names[0])
		}
	}
}

func TestJoining(t *testing.T) {
	got, err := joining(9, 3, 2, 10)
	if diff := cmp.Diff([]fleet.Member{{Name: "fleet-0010", HubURL: "https://10.201.0.1:20010"}, {Name: "fleet-0011"}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for n, want := range map[int]string{0: "at least 1", 2: "end with 9999"} {
		if _, err := joining(9998, 1, n, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("join %d: %v, want %q", n, err, want)
		}
	}
}

// TestNoNumberIsUsedAgain checks the names of clusters that join after others have left.
func TestNoNumberIsUsedAgain(t *testing.T) {
	s := newFleet(t)
	if err := s.SetLink(t.Context(), "fleet-0003", "hub", false, false); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"fleet-0003", "fleet-0004"}, {"fleet-0001", "fleet-0002"}} {
		if err := s.removeMembers(t.Context(), names); err != nil {
			t.Fatal(err)
		}
	}
	if cut := s.cutContent(t); cut != "" {
		t.Errorf("%s is still cut off", cut)
	}
	names, err := s.addMembers(2)
	if diff := cmp.Diff([]string{"fleet-0005", "fleet-0006"}, names); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	members, err := s.members()
	if diff := cmp.Diff([]fleet.Member{{Name: "fleet-0005"}, {Name: "fleet-0006"}}, members); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestCheckDescriptors(t *testing.T) {
	for _, test := range []struct {
		name               string
		clusters, cuttable int
		limit              uint64
		want               string
	}{
		{"5,000 clusters at a usual hard limit", 5000, 500, 20000, ""},
		{"too many clusters", 9999, 0, 20000, "9999 clusters need 20998 open files in kube-apiserver, and the hard limit is 20000"},
		{"too many that can be cut off", 500, 500, 4096, "give a smaller --fleet-cuttable"},
		{"the same fleet with fewer of them", 500, 100, 4096, ""},
	} {
		err := checkDescriptors(test.clusters, test.cuttable, test.limit)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestStateOf(t *testing.T) {
	cluster := func(name string, conditions ...string) clusterv1.ManagedCluster {
		c := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, condition := range conditions {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
		return c
	}
	known := []clusterv1.ManagedCluster{
		cluster("cluster1", "ManagedClusterJoined", "ManagedClusterConditionAvailable"), // not of the fleet
		cluster("fleet-0001", "ManagedClusterJoined", "ManagedClusterConditionAvailable"),
		cluster("fleet-0002", "ManagedClusterJoined"),
		cluster("fleet-0003"),
	}
	got := stateOf(FleetMembers(1, 4, 4), known, map[string]bool{"fleet-0002": true})
	if diff := cmp.Diff(FleetState{Clusters: 4, Joined: 2, Available: 1, Cut: 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFleetKubeconfig checks that it is for use outside the sandbox.
func TestFleetKubeconfig(t *testing.T) {
	s := newFleet(t)
	ca := s.fleetFile("ca.crt")
	if err := fleet.Replace(ca, []byte("CA")); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Write(s.fleetFile(OutsideFile), fleet.Outside{Address: "127.0.0.1:4711", CA: ca, Token: "secret"}); err != nil {
		t.Fatal(err)
	}
	config, err := s.FleetKubeconfig("fleet-0002")
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Clusters["fleet-0002"]
	if cluster.Server != "https://127.0.0.1:4711/clusters/fleet-0002" || string(cluster.CertificateAuthorityData) != "CA" || config.AuthInfos["fleet-0002"].Token != "secret" {
		t.Errorf("%v, %v", cluster, config.AuthInfos["fleet-0002"])
	}
}

// TestRaiseDescriptors checks that programs inherit the limit: Go restores the old one for them unless
// it is set explicitly.
func TestRaiseDescriptors(t *testing.T) {
	if os.Getenv("LIMITED") == "" {
		cmd := exec.Command("sh", "-c", `ulimit -Sn 256 && exec "$0" -test.run='^TestRaiseDescriptors$'`, os.Args[0])
		cmd.Env = append(os.Environ(), "LIMITED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := RaiseDescriptors(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "ulimit -Sn; ulimit -Hn").Output()
	limits := strings.Fields(string(out))
	if err != nil || len(limits) != 2 || limits[0] != limits[1] {
		t.Errorf("a program has the limits %v, %v, want two equal ones", limits, err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/pki"
)

// supervised returns the directory of a sandbox with a hub, cluster1, and a fleet of two clusters, where a goroutine does
// what the supervisor does: it runs programs unless they are stopped, and acknowledges cuts.
func supervised(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(file, content string, mode os.FileMode) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), mode)); err != nil {
			t.Fatal(err)
		}
	}
	record := `{"kind":"open-cluster-management-sandbox","clusters":["hub","cluster1"],"hubs":1,"programs":%q,"fleet":{"cuttable":2}}`
	write("sandbox.json", fmt.Sprintf(record, filepath.Join(dir, "bin")), 0o600)
	for _, name := range []string{"hub", "cluster1", "fleet"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "programs"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"hub", "cluster1"} {
		options := controlplane.Options{Name: name, Dir: filepath.Join(dir, name), Index: i, Address: controlplane.Address(i).String()}
		if _, err := controlplane.New(options); err != nil {
			t.Fatal(err)
		}
	}
	write("hub/"+filepath.Base(controlplane.EtcdDir(""))+"/member/snap/db", "", 0o600)
	write("bin/etcdutl", "#!/bin/sh\nmkdir \"${4#--data-dir=}\"\n", 0o700)
	write("fleet/"+control.MembersFile, `[{"name":"fleet-0001","hubURL":"https://10.201.0.1:20001"},{"name":"fleet-0002","hubURL":"https://10.201.0.1:20002"}]`, 0o600)
	hub := httptest.NewServer(http.HandlerFunc(serveHub))
	t.Cleanup(hub.Close)
	if err := clientcmd.WriteToFile(*pki.Kubeconfig("hub", hub.URL, nil, pki.User{}), filepath.Join(dir, "hub.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{
		"hub":      {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"},
		"cluster1": {"registration-agent", "work-agent"},
	}
	// follow creates followed when leader exists (or, with absence, when it does not), and removes it otherwise
	follow := func(leader, followed string, absence bool) {
		if _, err := os.Stat(leader); (err == nil) != absence {
			_ = os.WriteFile(followed, nil, 0o600)
		} else {
			_ = os.Remove(followed)
		}
	}
	turn := func() {
		for _, moved := range []bool{false, true} {
			file := control.CutFile(filepath.Join(dir, "cluster1"), "hub", moved)
			follow(file, control.CutDone(file), false)
		}
		cut := filepath.Join(control.FleetDir(dir), control.FleetCutFile)
		if content, err := os.ReadFile(cut); err == nil {
			_ = fleet.Replace(control.CutDone(cut), content)
		}
		for cluster, names := range programs {
			for _, name := range names {
				base := filepath.Join(dir, cluster, "programs", name)
				follow(base+".stopped", base+".running", true)
				follow(base+".never", base+".kept", true)
			}
		}
	}
	turn()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			turn()
			time.Sleep(time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return dir
}

// serveHub answers as a hub where fleet-0003 and fleet-0004 have joined and all others have been detached.
func serveHub(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case r.URL.Path == "/readyz":
	case r.URL.Path != "/apis/cluster.open-cluster-management.io/v1/managedclusters":
		http.NotFound(w, r)
	case query.Has("sendInitialEvents"):
		http.Error(w, "list, and watch then", http.StatusBadRequest)
	case query.Has("watch"):
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		list := clusterv1.ManagedClusterList{TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "ManagedClusterList"}}
		for _, name := range []string{"fleet-0003", "fleet-0004"} {
			cluster := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			for _, condition := range []string{clusterv1.ManagedClusterConditionHubAccepted, clusterv1.ManagedClusterConditionJoined, clusterv1.ManagedClusterConditionAvailable} {
				cluster.Status.Conditions = append(cluster.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
			}
			list.Items = append(list.Items, cluster)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
}

// TestCommandsTellWhatTheyDid checks the line that each command prints on a running sandbox.
func TestCommandsTellWhatTheyDid(t *testing.T) {
	var out bytes.Buffer
	options := &launcher.Options{Dir: supervised(t), Out: &out}
	file := filepath.Join(t.TempDir(), "backup.db")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"cut", "cluster1"}, "cluster1 cut off from hub\n"},
		{[]string{"mend", "cluster1"}, "cluster1 connected to hub\n"},
		{[]string{"cut", "cluster1", "hub", "--old-url"}, "cluster1 cut off from hub's first URL\n"},
		{[]string{"mend", "cluster1", "--old-url"}, "cluster1 connected to hub's first URL\n"},
		{[]string{"stop", "cluster1/work-agent", "cluster1/registration-agent"}, "cluster1/work-agent stopped\ncluster1/registration-agent stopped\n"},
		{[]string{"start", "cluster1/work-agent"}, "cluster1/work-agent started\n"},
		{[]string{"restart", "cluster1/work-agent"}, "cluster1/work-agent restarted\n"},
		{[]string{"rename", "cluster1", "other"}, "cluster1 renamed to other\n"},
		{[]string{"addon-auth", "cluster1", "token"}, "cluster1 changed: add-ons get their credentials by token\n"},
		{[]string{"registration-flags", "cluster1", "--v=4", "--x"}, "cluster1/registration-agent restarted with --v=4 --x\n"},
		{[]string{"registration-flags", "cluster1"}, "cluster1/registration-agent restarted without further flags\n"},
		{[]string{"cut", "--share=50%"}, "cut off: 1 (fleet-0001)\n"},
		{[]string{"mend", "--share=100%"}, "mended: 2 (fleet-0001, fleet-0002)\n"},
		{[]string{"fleet", "join", "2"}, "joined: 2 (fleet-0003, fleet-0004)\n"},
		{[]string{"fleet", "detach", "fleet-0001", "fleet-0003"}, "detached: 2 (fleet-0001, fleet-0003)\n"},
		{[]string{"snapshot", "hub", file}, "hub saved in " + file + "\n"},
		{[]string{"restore", "hub", file}, "hub restored from " + file + "\n"},
		{[]string{"new-ca", "hub"}, "hub has a certificate of another authority\n"},
		{[]string{"new-ca", "hub"}, ""}, // fails, there is no further one
	} {
		out.Reset()
		commands := append(slices.Concat(situationCommands(options), switchCommands(options)), fleetCommand(options)) // new ones, without the flags of the last call
		i := slices.IndexFunc(commands, func(cmd *cobra.Command) bool { return cmd.Name() == test.args[0] })
		cmd := commands[i]
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(test.args[1:])
		if err := cmd.Execute(); (err == nil) != (test.want != "") {
			t.Errorf("%q: %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

package control

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

func verifyWith(pool *x509.CertPool) x509.VerifyOptions { return x509.VerifyOptions{Roots: pool} }

// newSandbox is the directory of one with two hubs and a managed cluster.
func newSandbox(t *testing.T) *Sandbox {
	t.Helper()
	s := &Sandbox{dir: t.TempDir(), record: statedir.Record{Clusters: []string{"hub", "hub2", "cluster1"}, Hubs: 2}}
	for i, name := range s.record.Clusters {
		if _, err := controlplane.New(controlplane.Options{Name: name, Dir: filepath.Join(s.dir, name), Index: i,
			Address: controlplane.Address(i).String(), Relays: []string{controlplane.Address(2).String()}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestBootstrap(t *testing.T) {
	s := newSandbox(t)
	for _, test := range []struct {
		name    string
		options BootstrapOptions
		server  string
		expired bool
	}{
		{"of the first hub", BootstrapOptions{Hub: "hub"}, "https://10.201.2.1:7443", false},
		{"of the second one", BootstrapOptions{Hub: "hub2"}, "https://10.201.2.1:7445", false},
		{"of a hub that has moved", BootstrapOptions{Hub: "hub", Moved: true}, "https://10.201.2.1:7444", false},
		{"expired", BootstrapOptions{Hub: "hub", Expired: true}, "https://10.201.2.1:7443", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Cluster = "cluster1"
			config, err := s.Bootstrap(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if server := config.Clusters[test.options.Hub].Server; server != test.server {
				t.Errorf("server %s, want %s", server, test.server)
			}
			certificates, err := cert.ParseCertsPEM(config.AuthInfos[test.options.Hub].ClientCertificateData)
			if err != nil {
				t.Fatal(err)
			}
			leaf := certificates[0]
			if leaf.Subject.CommonName != "bootstrap-user" || leaf.NotAfter.After(leaf.NotBefore.Add(2*3600e9)) == test.expired {
				t.Errorf("certificate of %q from %s to %s", leaf.Subject.CommonName, leaf.NotBefore, leaf.NotAfter)
			}
		})
	}
}

func TestUnknownNamesAreRefusedWithTheKnownOnes(t *testing.T) {
	s := newSandbox(t)
	_, bootstrapErr := s.Bootstrap(BootstrapOptions{Cluster: "hub", Hub: "cluster1"})
	for name, err := range map[string]error{
		"bootstrap": bootstrapErr, "cut": s.SetLink(t.Context(), "hub", "cluster1", false, false),
		"rename": s.Rename(t.Context(), "hub", "x"), "name": s.Rename(t.Context(), "cluster1", "No Name"),
		"new-ca": s.NewAuthority("cluster1"), "addon-auth": s.SetAddonAuth(t.Context(), "hub", "csr"),
		"driver":             s.SetAddonAuth(t.Context(), "cluster1", "grpc"),
		"registration-flags": s.SetRegistrationFlags(t.Context(), "hub", "--v=4"),
		"flag":               s.SetRegistrationFlags(t.Context(), "cluster1", "--v", "4"),
		"lines":              s.SetRegistrationFlags(t.Context(), "cluster1", "--v=4\n--v=5"),
	} {
		want := "there are"
		switch name {
		case "name":
			want = "cannot be a cluster's name"
		case "flag", "lines":
			want = "is not a flag"
		case "driver":
			want = "the drivers are csr, token"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSetLink(t *testing.T) {
	s := newSandbox(t)
	file := func(moved bool) string { return CutFile(filepath.Join(s.dir, "cluster1"), "hub2", moved) }
	shut := func(moved bool) bool {
		_, err := os.Stat(file(moved))
		return err == nil
	}
	// does what the supervisor does
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, moved := range []bool{false, true} {
				if shut(moved) {
					_ = os.WriteFile(CutDone(file(moved)), nil, 0o600)
				} else {
					_ = os.Remove(CutDone(file(moved)))
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	defer func() { stop(); <-done }()
	for _, step := range []struct{ oldURL, up, first, moved bool }{
		{false, false, true, true},
		{false, false, true, true}, // a second time does nothing
		{false, true, false, false},
		{false, true, false, false},
		{true, false, true, false}, // the hub has moved away
	} {
		if err := s.SetLink(t.Context(), "cluster1", "hub2", step.oldURL, step.up); err != nil {
			t.Fatal(err)
		}
		if shut(false) != step.first || shut(true) != step.moved {
			t.Errorf("%+v: cut off from the first URL: %t, from the other one: %t", step, shut(false), shut(true))
		}
	}
}

func TestSituation(t *testing.T) {
	s := newSandbox(t)
	dir := filepath.Join(s.dir, "cluster1")
	situation := func() (cuts []Cut, stopped []string) {
		t.Helper()
		cuts, cutsErr := s.Cuts("cluster1")
		stopped, err := Stopped(dir)
		if err := errors.Join(cutsErr, err); err != nil {
			t.Fatal(err)
		}
		return cuts, stopped
	}
	if cuts, stopped := situation(); len(cuts)+len(stopped) > 0 {
		t.Errorf("before the start: %v, %v", cuts, stopped)
	}
	touch := func(path string) {
		t.Helper()
		if err := setCut(path, true); err != nil {
			t.Fatal(err)
		}
	}
	touch(CutFile(dir, "hub", false))
	touch(CutDone(CutFile(dir, "hub", false)))
	touch(CutFile(dir, "hub2", false))
	touch(CutFile(dir, "hub2", true))
	for _, file := range []string{"work-agent.kept", "registration-agent.kept", "registration-agent.stopped", "etcd.kept", "etcd.running"} {
		touch(filepath.Join(dir, "programs", file))
	}
	cuts, stopped := situation()
	if diff := cmp.Diff([]Cut{{Hub: "hub", FirstURL: true}, {Hub: "hub2", FirstURL: true, OtherURL: true}}, cuts); diff != "" {
		t.Errorf("cuts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"registration-agent"}, stopped); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
}

// TestNewAuthority: the certificate is for the same names, the old trust no
// longer covers it, the trust of the sandbox's own kubeconfigs does, and a new
// bootstrap kubeconfig has the new authority alone.
func TestNewAuthority(t *testing.T) {
	s := newSandbox(t)
	hub := filepath.Join(s.dir, "hub")
	before, err := servingCertificate(hub)
	if err != nil {
		t.Fatal(err)
	}
	old, err := s.Bootstrap(BootstrapOptions{Cluster: "cluster1", Hub: "hub"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.NewAuthority("hub"); err != nil {
		t.Fatal(err)
	}
	after, err := servingCertificate(hub)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.IPAddresses, after.IPAddresses); diff != "" {
		t.Errorf("addresses (-before +after):\n%s", diff)
	}
	fresh, err := s.Bootstrap(BootstrapOptions{Cluster: "cluster1", Hub: "hub"})
	if err != nil {
		t.Fatal(err)
	}
	component, err := clientcmd.LoadFromFile(filepath.Join(hub, "kube-scheduler.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		config      *clientcmdapi.Config
		was, become bool
	}{
		{"the old bootstrap kubeconfig", old, true, false},
		{"a new bootstrap kubeconfig", fresh, false, true},
		{"the hub's own programs", component, true, true},
	} {
		pool, err := cert.NewPoolFromBytes(test.config.Clusters["hub"].CertificateAuthorityData)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := before.Verify(verifyWith(pool)); (err == nil) != test.was {
			t.Errorf("%s trusts the old certificate: %v", test.name, err)
		}
		if _, err := after.Verify(verifyWith(pool)); (err == nil) != test.become {
			t.Errorf("%s trusts the new certificate: %v", test.name, err)
		}
	}
	if err := s.NewAuthority("hub"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second time: %v", err)
	}
}

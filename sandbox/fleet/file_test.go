package fleet

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// golden is the content of testdata/fleet.json, which the module of ocm-fleet has too.
var golden = File{
	Bootstrap: "/sandbox/fleet/bootstrap.kubeconfig", HubURL: "https://10.201.0.1:6443", Address: "127.0.0.1:13000",
	ServingCert: "/sandbox/hub/pki/fleet.crt", ServingKey: "/sandbox/hub/pki/fleet.key", CA: "/sandbox/hub/pki/ca.crt",
	Token: "secret", Members: "/sandbox/fleet/members.json", AddonAuth: "csr",
	TokenLife: metav1.Duration{Duration: 10 * time.Minute}, StatusSync: metav1.Duration{Duration: time.Minute},
	ReadyAfter: metav1.Duration{Duration: time.Second}, BrokenImage: "broken",
}

var goldenMembers = []Member{{Name: "fleet-0001", HubURL: "https://10.201.0.1:20001"}, {Name: "fleet-0002"}}

// TestFilesAreTheGoldenOnes checks both directions: this module writes the files, another reads them.
func TestFilesAreTheGoldenOnes(t *testing.T) {
	for name, value := range map[string]any{"fleet.json": golden, "members.json": goldenMembers} {
		file := filepath.Join(t.TempDir(), name)
		if err := Write(file, value); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(content(t, filepath.Join("testdata", name)), content(t, file)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want a file that only its owner can read", name, info.Mode(), err)
		}
	}
	file, err := Read[File]("testdata/fleet.json")
	if diff := cmp.Diff(golden, file); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	members, err := Read[[]Member]("testdata/members.json")
	if diff := cmp.Diff(goldenMembers, members); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func content(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		name   string
		number int
		ok     bool
	}{
		{"fleet-0001", 1, true},
		{"fleet-9999", 9999, true},
		{"fleet-1", 0, false},     // not as Name writes it
		{"fleet-0000", 0, false},  // numbers begin with 1
		{"fleet-10000", 0, false}, // more than four digits
		{"fleet-0001x", 0, false}, // more than a number
		{"fleet--001", 0, false},  // negative
		{"cluster1", 0, false},    // a real cluster
	} {
		number, ok := Number(test.name)
		if ok != test.ok || ok && number != test.number {
			t.Errorf("Number(%q) = %d, %v, want %d, %v", test.name, number, ok, test.number, test.ok)
		}
	}
}

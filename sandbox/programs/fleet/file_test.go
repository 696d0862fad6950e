package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// golden is the content of testdata/fleet.json, which the module sandbox has too.
func golden() File {
	return File{
		Bootstrap: "/sandbox/fleet/bootstrap.kubeconfig", HubURL: "https://10.201.0.1:6443", Address: "127.0.0.1:13000",
		ServingCert: "/sandbox/hub/pki/fleet.crt", ServingKey: "/sandbox/hub/pki/fleet.key", CA: "/sandbox/hub/pki/ca.crt",
		Token: "secret", Members: "/sandbox/fleet/members.json", AddonAuth: "csr",
		TokenLife: metav1.Duration{Duration: 10 * time.Minute}, StatusSync: metav1.Duration{Duration: time.Minute},
		ReadyAfter: metav1.Duration{Duration: time.Second}, BrokenImage: "broken",
	}
}

func TestFilesAreTheGoldenOnes(t *testing.T) {
	file, err := readFile("testdata/fleet.json")
	if diff := cmp.Diff(golden(), file); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	members, err := readMembers("testdata/members.json")
	want := []Member{{Name: "fleet-0001", HubURL: "https://10.201.0.1:20001"}, {Name: "fleet-0002"}}
	if diff := cmp.Diff(want, members); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*File)
		want   string // part of the error; empty means none
	}{
		{"valid", func(*File) {}, ""},
		{"default life of tokens", func(f *File) { f.TokenLife.Duration = 0 }, ""},
		{"no token: everyone could read the Secrets", func(f *File) { f.Token = "" }, "token is empty"},
		{"no hub", func(f *File) { f.HubURL = "" }, "hubURL is empty"},
		{"no port", func(f *File) { f.Address = "127.0.0.1" }, "address"},
		{"unknown driver", func(f *File) { f.AddonAuth = "grpc" }, "addonAuth"},
		{"the API server refuses shorter lives", func(f *File) { f.TokenLife.Duration = time.Minute }, "tokenLife"},
		{"a busy loop", func(f *File) { f.StatusSync.Duration = 0 }, "statusSync"},
		{"negative time", func(f *File) { f.ReadyAfter.Duration = -1 }, "readyAfter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := golden()
			test.change(&f)
			err := f.validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestReadMembers(t *testing.T) {
	for _, test := range []struct {
		name, content string
		want          int
		err           string
	}{
		{"none", `[]`, 0, ""},
		{"two", `[{"name":"a"},{"name":"b"}]`, 2, ""},
		{"a name is a directory's too", `[{"name":"../a"}]`, 0, "name"},
		{"a cluster twice", `[{"name":"a"},{"name":"a"}]`, 0, "twice"},
		{"half a file", `[{"name":"a"`, 0, "decode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "members.json")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			members, err := readMembers(path)
			if len(members) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, error %v, want %d, error %q", members, err, test.want, test.err)
			}
		})
	}
	if members, err := readMembers(filepath.Join(t.TempDir(), "missing")); members != nil || err != nil {
		t.Errorf("without the file: %v, error %v, want none", members, err)
	}
}

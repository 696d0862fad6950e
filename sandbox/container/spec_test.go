package container

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateReportsEverything(t *testing.T) {
	bad := Spec{
		Image: "image", Root: "", Dir: "work",
		Mounts:       []Mount{{Source: "volume", Target: "/data"}, {Source: "/v", Target: "data"}, {Source: "/v", Target: "/x/.."}},
		Env:          []string{"A", "=b", "OK=1", "NUL=\x00"},
		UID:          -1,
		Groups:       []int{-2},
		Capabilities: []string{"FLY", "NET_RAW"},
	}
	want := []string{
		"no program to run: name it as the first of the arguments",
		`image directory "image" is not an absolute path`,
		`root directory "" is not an absolute path`,
		`working directory "work" is not an absolute path`,
		`mount source "volume" (for "/data") is not an absolute path`,
		`mount target "data" is not an absolute path below /`,
		`mount target "/x/.." is not an absolute path below /`,
		`environment entry "A" is not of the form NAME=value`,
		`environment entry "=b" is not of the form NAME=value`,
		`"NUL=\x00" contains a NUL byte`,
		"user or group id -1 is negative",
		"user or group id -2 is negative",
		`unknown capability "FLY": use a name such as NET_BIND_SERVICE`,
	}
	err := bad.validate()
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if err := (Spec{Image: "/i", Root: "/r", Args: []string{"p"}}).validate(); err != nil {
		t.Errorf("the smallest spec: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	tests := map[string]struct {
		env, want []string
		tty       bool
	}{
		"a terminal is named": {
			want: []string{"PATH=" + defaultPath, "HOME=/", "HOSTNAME=h", "TERM=xterm"},
			tty:  true,
		},
		"an empty one gets what a runtime adds": {
			want: []string{"PATH=" + defaultPath, "HOME=/", "HOSTNAME=h"},
		},
		"what is given stays, also when empty": {
			env:  []string{"HOME=/root", "PATH=", "HOSTNAME=x"},
			want: []string{"HOME=/root", "PATH=", "HOSTNAME=x"},
		},
		"the last of a name wins, at the place of the first": {
			env:  []string{"A=1", "PATH=/bin", "HOME=/", "HOSTNAME=h", "A=2"},
			want: []string{"A=2", "PATH=/bin", "HOME=/", "HOSTNAME=h"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, environment(Spec{Env: tt.env, TTY: tt.tty, Hostname: "h"})); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParents(t *testing.T) {
	got := parents([]string{"/a/b/c", "a/d/", "", "/", "/e"})
	want := map[string]bool{"/a": true, "/a/b": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
}

func TestMapped(t *testing.T) {
	const all, one, ranges = "         0          0 4294967295\n", "0 1000 1\n", "0 1000 1\n1 100000 65536\n"
	tests := map[string]struct {
		table string
		id    int
		want  bool
	}{
		"every id on the machine":          {all, 65532, true},
		"root of a namespace of one":       {one, 0, true},
		"another user in it":               {one, 65532, false},
		"a second range":                   {ranges, 65532, true},
		"beyond the second range":          {ranges, 65537, false},
		"a namespace without any id":       {"", 0, false},
		"what is not a table maps nothing": {"x y z\n", 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mapped(tt.table, tt.id); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExitOf(t *testing.T) {
	tests := map[string]struct {
		status syscall.WaitStatus
		want   Exit
	}{
		"exit code 3":       {3 << 8, Exit{Code: 3}},
		"killed":            {syscall.WaitStatus(syscall.SIGKILL), Exit{Code: 137, Signal: syscall.SIGKILL}},
		"dumped its memory": {syscall.WaitStatus(syscall.SIGSEGV) | 0x80, Exit{Code: 139, Signal: syscall.SIGSEGV}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := exitOf(tt.status); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestReadReport(t *testing.T) {
	tests := map[string]struct{ report, want string }{
		"the program runs":           {`{"Executing":true}`, ""},
		"the program does not run":   {`{"Executing":true}{"Reason":"RunContainerError","Message":"no"}`, "run container c: no"},
		"the container was not made": {`{"Reason":"CreateContainerError","Message":"no"}`, "create container c: no"},
		"nothing was said":           {"", "create container c: container-init ended before it ran the program"},
		"half a word":                {`{"Exec`, "create container c: read the report of container-init: unexpected EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := readReport(strings.NewReader(tt.report), "c"); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHostsFile(t *testing.T) {
	const loopback = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
	tests := map[string]struct {
		spec Spec
		want string
	}{
		"the hostname":           {Spec{Hostname: "web-0"}, "10.0.0.2\tweb-0\n"},
		"names instead of it":    {Spec{Hostname: "web-0", HostNames: []string{"web-0.web", "web-0"}}, "10.0.0.2\tweb-0.web\tweb-0\n"},
		"further lines":          {Spec{Hostname: "web-0", Hosts: []Host{{"192.0.2.1", []string{"a", "b"}}}}, "10.0.0.2\tweb-0\n192.0.2.1\ta\tb\n"},
		"a container of no name": {Spec{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(loopback+tt.want, etcFiles(tt.spec, "10.0.0.2")[0].content); diff != "" {
				t.Errorf("/etc/hosts (-want +got):\n%s", diff)
			}
		})
	}
}

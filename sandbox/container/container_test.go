package container

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const none = "0000000000000000"

// user is who a program runs as that is to run as 65532 with the group 2000. In
// a user namespace the groups are the caller's.
func user(t *testing.T) (uid, gid int, groups []int) {
	t.Helper()
	if !inUserNamespace() {
		return 65532, 65532, []int{2000}
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	return 0, 0, groups
}

// A container that sees the caller's /proc gets nothing with which to reach the processes there.
func TestContainerSeesNoOuterProcesses(t *testing.T) {
	img := image(t, nil)
	target := begin(t, spec(t, img, "wait"), nil, nil)
	for name, change := range map[string]func(*Spec){
		"capabilities":             func(s *Spec) { s.UID, s.Capabilities = 0, []string{"SYS_PTRACE"} },
		"beside another container": func(s *Spec) { s.Beside = target },
	} {
		s := spec(t, img, "wait")
		change(&s)
		if os.Getenv(inside) != hiddenProc {
			begin(t, s, nil, nil)
			continue
		}
		p, err := Start(t.Context(), s, nil, nil, nil)
		if err == nil {
			_ = p.Signal(syscall.SIGKILL)
			_, _ = p.Wait()
		}
		var refused *StartError
		if !errors.As(err, &refused) || refused.Reason != ReasonCreate || !strings.Contains(refused.Error(), "the kernel forbids a new /proc") {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

func TestContainerSeesItsOwnWorld(t *testing.T) {
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "token"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	ns := attach(t, bridge(t))
	s := spec(t, image(t, nil))
	s.ReadOnlyRoot = true
	s.Dir = "/work/here"
	s.Env = []string{"A=1", "B=x=y", "A=2"}
	s.Hosts = []Host{{IP: "10.201.1.1", Names: []string{"kubernetes.default.svc", "kubernetes"}}}
	s.Mounts = []Mount{
		{Source: volume, Target: "/var/run/secrets/token.d", ReadOnly: true},
		{Source: t.TempDir(), Target: "/cache"},
		{Source: filepath.Join(volume, "token"), Target: "/etc/one-file"},
	}
	asked := []string{
		"/var/run/secrets/token.d/token", "/etc/one-file", "/etc/hosts", "/etc/hostname", "/proc/1/comm",
		"write:/", "write:/etc", "write:/usr/local/bin", "write:/tmp", "write:/work/here",
		"write:/var/run/secrets/token.d", "write:/proc/sys/kernel/hostname", "write:/dev/null", "list:/", "list:/dev",
	}
	got := lookIn(t, s, ns, asked...)

	ip := ns.IP().String()
	uid, gid, groups := user(t)
	want := seen{
		PID: 1, UID: uid, GID: gid, Groups: groups, Hostname: "pod-1", Dir: "/work/here",
		Env: []string{"A=2", "B=x=y", "PATH=" + defaultPath, "HOME=/", "HOSTNAME=pod-1"},
		Status: map[string]string{
			"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1",
		},
		Addresses: []string{ip + "/24", "127.0.0.1/8"},
		Files: map[string]string{
			"/var/run/secrets/token.d/token": "secret", "/etc/one-file": "secret", "/etc/hostname": "pod-1\n",
			"/proc/1/comm": probeName + "\n",
			"/etc/hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
				ip + "\tpod-1\n10.201.1.1\tkubernetes.default.svc\tkubernetes\n",
		},
		Writable: map[string]bool{
			"/": false, "/etc": false, "/usr/local/bin": false, "/tmp": false, "/work/here": false,
			"/var/run/secrets/token.d": false, "/proc/sys/kernel/hostname": false, "/dev/null": true,
		},
		Lists: map[string][]string{
			"/":    {"cache", "dev", "etc", "proc", "tmp", "usr", "var", "work"},
			"/dev": {"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"},
		},
	}
	if os.Getenv(inside) == hiddenProc {
		// The first process there is that of the test: started as /proc/self/exe.
		want.Files["/proc/1/comm"] = "exe\n"
	}
	sortStrings := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, sortStrings, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what the program sees (-want +got):\n%s", diff)
	}
}

func TestContainerWritesWhereItMay(t *testing.T) {
	tests := map[string]struct {
		readOnlyRoot bool
		uid          int
		files        map[string]string
		want         map[string]bool
	}{
		"a read-only root leaves the writable mount": {
			readOnlyRoot: true, files: map[string]string{"tmp/": ""},
			want: map[string]bool{"/": false, "/tmp": false, "/data": true, "/dev/shm": true},
		},
		"root writes to the root, but to no file of the image": {
			files: map[string]string{"tmp/": "", "opt/file": "x"},
			want: map[string]bool{
				"/": true, "/tmp": true, "/data": true, "/opt": false, "/opt/file": false,
				"/proc/sys/kernel/hostname": false, "/proc/sys/net/ipv4/ip_forward": false,
			},
		},
		"an image without /tmp": {
			want: map[string]bool{"/tmp": true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(t, image(t, tt.files))
			s.UID, s.GID, s.Groups, s.ReadOnlyRoot = 0, 0, nil, tt.readOnlyRoot
			s.Mounts = []Mount{{Source: t.TempDir(), Target: "/data"}}
			var asked []string
			for at := range tt.want {
				asked = append(asked, "write:"+at)
			}
			got := lookIn(t, s, nil, asked...)
			if diff := cmp.Diff(tt.want, got.Writable); diff != "" {
				t.Errorf("writable (-want +got):\n%s", diff)
			}
			if entries, err := os.ReadDir(s.Root); err != nil || len(entries) > 0 {
				t.Errorf("the caller's root directory: got %v, %v, want it empty", entries, err)
			}
		})
	}
}

func TestContainerUserWritesToTmp(t *testing.T) {
	for name, tt := range map[string]struct {
		files     map[string]string
		directory string // that of the image, if it has one
		want      []string
	}{
		"an image without one":        {want: nil},
		"an empty one":                {map[string]string{"tmp/": ""}, "tmp", nil},
		"one with files of the image": {map[string]string{"tmp/file": "x"}, "tmp", []string{"file"}},
		"a link":                      {map[string]string{"var/tmp/file": "x", "tmp": "->/var/tmp"}, "var/tmp", []string{"file"}},
	} {
		t.Run(name, func(t *testing.T) {
			img := image(t, tt.files)
			if tt.directory != "" {
				if err := os.Chmod(filepath.Join(img, tt.directory), 0o777|os.ModeSticky); err != nil {
					t.Fatal(err)
				}
			}
			got := lookIn(t, spec(t, img), nil, "write:/tmp", "list:/tmp")
			if diff := cmp.Diff(append(tt.want, "made-by-probe"), got.Lists["/tmp"]); diff != "" || !got.Writable["/tmp"] {
				t.Errorf("/tmp is writable: %t, its files (-want +got):\n%s", got.Writable["/tmp"], diff)
			}
			if tt.directory == "" {
				return
			}
			if entries, err := os.ReadDir(filepath.Join(img, tt.directory)); err != nil || len(entries) != len(tt.want) {
				t.Errorf("the image's own directory has %v, %v", entries, err)
			}
		})
	}
}

func TestContainerMountsInTheImagesDirectories(t *testing.T) {
	img := image(t, map[string]string{
		"var/run":       "->/run",
		"run/there":     "image",
		"etc/hosts":     "image",
		"etc/conf/one":  "image one",
		"etc/conf/two":  "image two",
		"etc/localtime": "->/usr/share/zone",
	})
	volume := t.TempDir()
	for _, name := range []string{"token", "one"} {
		if err := os.WriteFile(filepath.Join(volume, name), []byte("mounted"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := spec(t, img)
	s.Mounts = []Mount{
		{Source: volume, Target: "/var/run/secrets/x"},
		{Source: filepath.Join(volume, "one"), Target: "/etc/conf/one"},
		{Source: t.TempDir(), Target: "/outer"},
		{Source: volume, Target: "/outer/inner"},
	}
	got := lookIn(t, s, nil, "/run/secrets/x/token", "/run/there", "/etc/conf/one", "/etc/conf/two",
		"/etc/hosts", "/outer/inner/token", "list:/etc", "list:/run")
	files := map[string]string{
		"/run/secrets/x/token": "mounted", "/run/there": "image", "/etc/conf/one": "mounted", "/etc/conf/two": "image two",
		"/etc/hosts": hostsFile([]string{"pod-1"}, "", nil), "/outer/inner/token": "mounted",
	}
	if diff := cmp.Diff(files, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	lists := map[string][]string{
		"/etc": {"conf", "hostname", "hosts", "localtime", "resolv.conf"},
		"/run": {"secrets", "there"},
	}
	if diff := cmp.Diff(lists, got.Lists); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(img, "run/secrets")); err == nil {
		t.Error("the mount point was made in the image")
	}
}

func TestContainerKeepsTheCapabilitiesThatAreNamed(t *testing.T) {
	s := spec(t, image(t, nil))
	s.Capabilities = []string{"NET_BIND_SERVICE"}
	const bind = "0000000000000400"
	s.UID, s.GID, s.Groups = 0, 0, nil
	want := map[string]string{
		"CapInh": none, "CapPrm": bind, "CapEff": bind, "CapBnd": bind, "CapAmb": none, "NoNewPrivs": "1",
	}
	if diff := cmp.Diff(want, lookIn(t, s, nil).Status); diff != "" {
		t.Errorf("capabilities of root (-want +got):\n%s", diff)
	}
	s = spec(t, s.Image)
	s.Capabilities = []string{"CAP_NET_BIND_SERVICE"}
	if !inUserNamespace() {
		want["CapPrm"], want["CapEff"] = none, none
	}
	if diff := cmp.Diff(want, lookIn(t, s, nil).Status); diff != "" {
		t.Errorf("capabilities of a user (-want +got):\n%s", diff)
	}
}

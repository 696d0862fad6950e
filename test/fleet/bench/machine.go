package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// newRecord returns a record that tells on which machine and with which versions it is made.
func newRecord(o Options) (*record.Record, error) {
	load, err := procfs.Load()
	if err != nil {
		return nil, err
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return nil, fmt.Errorf("read the machine's memory: %w", err)
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("read the kernel's version: %w", err)
	}
	versions := map[string]string{"Go": strings.TrimPrefix(runtime.Version(), "go"), "helloworld-addon": o.Version}
	for _, module := range []struct{ dir, path, name string }{
		{o.Module, "open-cluster-management.io/ocm", "OCM"}, {o.Module, "k8s.io/kubernetes", "Kubernetes"}, {o.Module, "go.etcd.io/etcd/server/v3", "etcd"},
		{o.Root, "open-cluster-management.io/addon-framework", "addon-framework"},
	} {
		content, err := os.ReadFile(filepath.Join(module.dir, "go.mod"))
		if err != nil {
			return nil, fmt.Errorf("read the versions: %w", err)
		}
		if version := versionIn(string(content), module.path); version != "" {
			versions[module.name] = version
		}
	}
	return &record.Record{
		Size: o.Clusters, Started: time.Now().UTC().Truncate(time.Second),
		Machine: record.Machine{CPUs: runtime.NumCPU(), MemoryMiB: int(info.Totalram * uint64(info.Unit) >> 20), // #nosec G115 -- below 2^63
			System: runtime.GOOS + "/" + runtime.GOARCH, Kernel: unix.ByteSliceToString(name.Release[:]), Load: load},
		Versions: versions, Command: o.Command,
		Settings: map[string]string{"settle": o.Times.Settle.String(), "idle": o.Times.Idle.String(), "cut": o.Times.Cut.String(),
			"certificateLife": o.Times.CertificateLife.String(), "steps": strings.Join(o.Steps, ","), "upFlags": strings.Join(o.UpFlags, " "),
			"clusters": strconv.Itoa(o.Clusters)},
	}, nil
}

// versionIn finds the version of a module in a go.mod: that of a replacement, if there is one.
func versionIn(file, module string) string {
	for _, pattern := range []string{`(?m)^(?:replace)?\s*%s(?: v\S+)? => \S+ (v\S+)`, `(?m)^(?:require)?\s*%s (v\S+)`} {
		if match := regexp.MustCompile(fmt.Sprintf(pattern, regexp.QuoteMeta(module))).FindStringSubmatch(file); match != nil {
			return match[1]
		}
	}
	return ""
}

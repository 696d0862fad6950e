// Package origin begins the record of a run of the fleet benchmark with its machine and its versions, and saves records as
// files. It measures nothing.
package origin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// Options describe a run beside its machine.
type Options struct {
	Clusters int
	// Module is the directory of the go.mod that names OCM's version, and Root that of the
	// repository's. Version is that of the add-on.
	Module, Root, Version string
	// Command is the command line. Settings are times and numbers of the run, by name.
	Command  string
	Settings map[string]string
}

// Record returns a record without figures. It reads the two go.mod and what the kernel tells of
// the machine.
func Record(o Options) (*record.Record, error) {
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
		Versions: versions, Command: o.Command, Settings: o.Settings,
	}, nil
}

// Save replaces the file with the record as JSON, and makes its directory. The file is whole also when the run is killed
// meanwhile.
func Save(r *record.Record, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of the run's figures: %w", err)
	}
	var content bytes.Buffer
	if err := r.Write(&content); err != nil {
		return err
	}
	// #nosec G306 -- figures are no secret
	if err := os.WriteFile(file+".tmp", content.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the run's figures: %w", err)
	}
	if err := os.Rename(file+".tmp", file); err != nil {
		return fmt.Errorf("replace the file of the run's figures: %w", err)
	}
	return nil
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

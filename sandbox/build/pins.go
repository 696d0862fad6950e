package build

import (
	"crypto/sha256"
	_ "embed" // the pins
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
)

//go:generate cp ../programs/go.mod programs.mod
//go:generate cp ../programs/go.sum programs.sum

// pinsMod and pinsSum are copies of the files of the module sandbox/programs: go:embed cannot reach
// into another module. make generate writes them, and a test compares them.
var (
	//go:embed programs.mod
	pinsMod []byte
	//go:embed programs.sum
	pinsSum []byte
)

const (
	modulePath         = "open-cluster-management.io/helloworld-addon/sandbox"
	programsModulePath = modulePath + "/programs"
)

// defaultOut is the directory of the programs of a given module.
const defaultOut = "bin/sandbox"

// directory returns that of the programs, by the flags --module and --programs, which may be
// empty. Without both it is a directory of the user's cache that all repositories share. Programs
// with other pins or versions have another one.
func directory(module, programs string, versions Versions) (string, error) {
	switch {
	case programs != "":
		return programs, nil
	case module != "":
		return defaultOut, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(cache, "ocm-sandbox", pinsKey(versions)), nil
}

// pinsKey returns a fingerprint of what determines the programs, apart from the version of Go: every
// version that can build them will do, and repositories with different ones share them.
func pinsKey(versions Versions) string {
	hash := sha256.New()
	for _, content := range [][]byte{pinsMod, pinsSum, []byte(fmt.Sprint(programs, manifestSources, runtime.GOARCH, versions))} {
		_, _ = fmt.Fprintf(hash, "%d\n%s", len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// writePins writes a module with the embedded pins to a directory.
func writePins(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the module that pins the programs: %w", err)
	}
	for name, content := range map[string][]byte{"go.mod": pinsMod, "go.sum": pinsSum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write the module that pins the programs: %w", err)
		}
	}
	return nil
}

// pinned matches the lines of the pins with what users know by name.
var pinned = regexp.MustCompile(`(?m)^\t((?:k8s\.io/kubernetes|go\.etcd\.io/etcd/server/v3|open-cluster-management\.io/ocm) v\S+)$`)

// Pins returns the modules and embedded versions of etcd, Kubernetes and OCM, for example
// "open-cluster-management.io/ocm v1.2.1".
func Pins() []string { return pinsIn(pinsMod) }

func pinsIn(goMod []byte) []string {
	var pins []string
	for _, match := range pinned.FindAllSubmatch(goMod, -1) {
		pins = append(pins, string(match[1]))
	}
	return pins
}

// Version returns the version of the sandbox's module that this program was built from. It is empty if
// that is unknown, as for a program that was built from changed or local files.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return versionIn(info)
}

// publishedVersion matches a version that the Go module proxy can have: no (devel), no +dirty.
var publishedVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func versionIn(info *debug.BuildInfo) string {
	for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if module.Path == modulePath && module.Replace == nil && publishedVersion.MatchString(module.Version) {
			return module.Version
		}
	}
	return ""
}

// pseudoVersion matches a version that ends with a commit's time and hash, for example
// v0.1.1-0.20260102030405-abcdefabcdef (https://go.dev/ref/mod#pseudo-versions).
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`)

// queryOf returns the module query of the programs' module that belongs to a version of the sandbox's
// module. The tags of the two differ, so the pseudo-version of a commit may differ too.
func queryOf(version string) string {
	if match := pseudoVersion.FindStringSubmatch(version); match != nil {
		return programsModulePath + "@" + match[1]
	}
	return programsModulePath + "@" + version
}

// errNoVersion tells how to build the program of a fleet with an ocm-sandbox that has no version.
var errNoVersion = errors.New("this ocm-sandbox was built from local files, so the version of the source is unknown: " +
	"give --module with the directory sandbox/programs of these files")

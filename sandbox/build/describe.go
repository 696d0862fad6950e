package build

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Describe returns the versions that a sandbox with these options runs, for example "OCM v1.2.1", and needs no built program.
func Describe(options Options) ([]string, error) {
	if err := options.Versions.validate(options); err != nil {
		return nil, err
	}
	pins := pinsMod
	switch {
	case options.Module != "":
		var err error
		if pins, err = os.ReadFile(filepath.Join(options.Module, "go.mod")); err != nil {
			return nil, fmt.Errorf("read the module that pins the programs: %w", err)
		}
	case options.Out != "":
		return []string{fmt.Sprintf("OCM, Kubernetes and etcd: the programs in %s", options.Out)}, nil
	}
	return describe(pins, options.Versions), nil
}

// describe returns the versions of a go.mod, except for those that are chosen.
func describe(goMod []byte, chosen Versions) []string {
	var lines []string
	for _, program := range []struct{ name, module string }{
		{"OCM", ocmModule}, {"Kubernetes", kubernetesModule}, {"etcd", etcdModule},
	} {
		version := chosen.version(program.module)
		for _, pin := range pinsIn(goMod) {
			if pinnedVersion, ok := strings.CutPrefix(pin, program.module+" "); ok {
				version = cmp.Or(version, pinnedVersion)
			}
		}
		lines = append(lines, program.name+" "+cmp.Or(version, "(unknown)"))
	}
	return lines
}

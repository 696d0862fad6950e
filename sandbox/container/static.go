package container

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// CheckStatic returns an error if this program needs shared libraries. It also starts inside containers, for exec and
// for probes, and their images need not have such libraries.
func CheckStatic() error {
	file, err := elf.Open(self)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer func() { _ = file.Close() }()
	if isDynamic(file.Progs) {
		return errors.New("this ocm-sandbox needs shared libraries, which the containers of a sandbox do not have: install it again with CGO_ENABLED=0 go install -trimpath")
	}
	return nil
}

func isDynamic(segments []*elf.Prog) bool {
	return slices.ContainsFunc(segments, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

package container

import (
	"debug/elf"
	"testing"
)

func TestIsDynamic(t *testing.T) {
	segment := func(kind elf.ProgType) *elf.Prog { return &elf.Prog{ProgHeader: elf.ProgHeader{Type: kind}} }
	if isDynamic([]*elf.Prog{segment(elf.PT_LOAD)}) {
		t.Error("a program without an interpreter is dynamic")
	}
	if !isDynamic([]*elf.Prog{segment(elf.PT_LOAD), segment(elf.PT_INTERP)}) {
		t.Error("a program that ld.so has to load is not dynamic")
	}
}

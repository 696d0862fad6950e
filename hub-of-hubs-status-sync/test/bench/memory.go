package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// memory is the resident memory of a process in bytes, now and at most.
func memory(pid int) (now, peak int64, err error) {
	file := fmt.Sprintf("/proc/%d/status", pid)
	if now, err = kilobytes(file, "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = kilobytes(file, "VmHWM:")
	return now, peak, err
}

// memoryOfFamily is the memory of a process and its children, what they share counted once.
func memoryOfFamily(pid int) (int64, error) {
	children, err := childrenOf(pid)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, one := range append(children, pid) {
		share, err := kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", one), "Pss:")
		if errors.Is(err, fs.ErrNotExist) {
			continue // a session has just ended
		}
		if err != nil {
			return 0, err
		}
		total += share
	}
	return total, nil
}

// kilobytes returns the bytes of a line such as "VmRSS:   1234 kB".
func kilobytes(file, name string) (int64, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			value, err := strconv.ParseInt(fields[1], 10, 64)
			return value << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Program selects a process.
type Program struct {
	// Name is the base name of the program, Args what is among its arguments.
	Name string
	Args []string
}

// Usage is what a process uses.
type Usage struct {
	PID int
	// CPU is the time that it has run since it started, in steps of 10 ms.
	CPU time.Duration
	// RSS is its resident memory in bytes, Anon the part that is not backed by
	// files (RssAnon): the rest is mostly the program itself.
	RSS, Anon int64
}

// Load is the load average of the last minute.
func Load() (float64, error) {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, fmt.Errorf("read the machine's load: %w", err)
	}
	return parseLoad(content)
}

// Supervisor is the process that runs the sandbox of the directory.
func Supervisor(dir string) (int, error) {
	snapshot, err := takeSnapshot()
	if err != nil {
		return 0, err
	}
	return snapshot.one("the sandbox's supervisor", func(_ int, args []string) bool {
		return matches(args, "ocm-sandbox", "supervise", "--dir="+dir)
	})
}

// Find is the one process of the program below the supervisor.
func Find(supervisor int, program Program) (Usage, error) {
	snapshot, err := takeSnapshot()
	if err != nil {
		return Usage{}, err
	}
	pid, err := snapshot.one(program.Name, func(pid int, args []string) bool {
		return matches(args, program.Name, program.Args...) && descends(snapshot.parents, pid, supervisor)
	})
	if err != nil {
		return Usage{}, err
	}
	return usage(pid)
}

func usage(pid int) (Usage, error) {
	statContent, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read a process's times: %w", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read a process's memory: %w", err)
	}
	times, err := parseStat(statContent)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{PID: pid, CPU: times.cpu}
	if u.RSS, err = statusBytes(status, "VmRSS"); err != nil {
		return Usage{}, err
	}
	u.Anon, err = statusBytes(status, "RssAnon")
	return u, err
}

// snapshot is the processes of this machine.
type snapshot struct {
	parents map[int]int
	args    map[int][]string
}

func takeSnapshot() (snapshot, error) {
	s := snapshot{parents: map[int]int{}, args: map[int][]string{}}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return s, fmt.Errorf("list the processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		content, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		cmdline, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err != nil {
			continue
		}
		if parsed, err := parseStat(content); err == nil {
			s.parents[pid], s.args[pid] = parsed.parent, splitArgs(cmdline)
		}
	}
	return s, nil
}

// one is the only process that is meant.
func (s snapshot) one(what string, meant func(pid int, args []string) bool) (int, error) {
	var found []string
	last := 0
	for pid, args := range s.args {
		if meant(pid, args) {
			found, last = append(found, strconv.Itoa(pid)), pid
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("find the process of %s: there is none", what)
	case 1:
		return last, nil
	default:
		return 0, fmt.Errorf("find the process of %s: there are several: %s", what, strings.Join(found, ", "))
	}
}

// Tree returns what a process and those below it use, added up by the program's name.
func Tree(ancestor int) (map[string]Usage, error) {
	s, err := takeSnapshot()
	if err != nil {
		return nil, err
	}
	tree := map[string]Usage{}
	for pid, args := range s.args {
		if len(args) == 0 || pid != ancestor && !descends(s.parents, pid, ancestor) {
			continue
		}
		one, err := usage(pid)
		if err != nil {
			continue // it has ended meanwhile
		}
		name := filepath.Base(args[0])
		sum := tree[name]
		tree[name] = Usage{CPU: sum.CPU + one.CPU, RSS: sum.RSS + one.RSS, Anon: sum.Anon + one.Anon}
	}
	return tree, nil
}

// Of returns what one process uses.
func Of(pid int) (Usage, error) { return usage(pid) }

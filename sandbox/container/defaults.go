package container

import (
	"fmt"
	"path"
	"strings"
)

// defaultPath is Docker's and containerd's PATH for an image without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment adds the variables of a container runtime unless they are set. The last
// entry of a name wins.
func environment(spec Spec) []string {
	var out []string
	index := map[string]int{}
	for _, entry := range spec.Env {
		name, _, _ := strings.Cut(entry, "=")
		if i, found := index[name]; found {
			out[i] = entry
			continue
		}
		index[name] = len(out)
		out = append(out, entry)
	}
	defaults := [][2]string{{"PATH", defaultPath}, {"HOME", "/"}, {"HOSTNAME", spec.Hostname}}
	if spec.TTY {
		defaults = append(defaults, [2]string{"TERM", "xterm"})
	}
	for _, add := range defaults {
		if _, found := index[add[0]]; !found {
			out = append(out, add[0]+"="+add[1])
		}
	}
	return out
}

// hostsFile returns the content of /etc/hosts. The address may be empty.
func hostsFile(names []string, address string, hosts []Host) string {
	var b strings.Builder
	b.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	if address != "" && len(names) > 0 {
		hosts = append([]Host{{IP: address, Names: names}}, hosts...)
	}
	for _, host := range hosts {
		fmt.Fprintf(&b, "%s\t%s\n", host.IP, strings.Join(host.Names, "\t"))
	}
	return b.String()
}

// parents returns the set of the directories above the paths, without the root.
func parents(paths []string) map[string]bool {
	set := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(path.Clean("/" + p)); dir != "/"; dir = path.Dir(dir) {
			set[dir] = true
		}
	}
	return set
}

// mapped reports whether a table in the format of /proc/self/uid_map maps an id.
func mapped(table string, id int) bool {
	for line := range strings.Lines(table) {
		var first, outside, count int
		if n, err := fmt.Sscan(line, &first, &outside, &count); err != nil || n != 3 {
			continue
		}
		if id >= first && id-first < count {
			return true
		}
	}
	return false
}

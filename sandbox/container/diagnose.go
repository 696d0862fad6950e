package container

import (
	"fmt"
	"os"
	"strings"
)

// setting is a kernel setting that forbids namespaces when it has a value.
type setting struct {
	path, forbids string
	// advice is what to do about it.
	advice string
	// rootToo: it counts for root as well, not only for a user namespace.
	rootToo bool
}

// settings are the ones that commonly forbid namespaces.
var settings = []setting{
	{"kernel.unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1", false},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0", false},
	{"user.max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000", false},
	{"user.max_pid_namespaces", "0", "sysctl -w user.max_pid_namespaces=15000", true},
	{"user.max_mnt_namespaces", "0", "sysctl -w user.max_mnt_namespaces=15000", true},
	{"user.max_net_namespaces", "0", "sysctl -w user.max_net_namespaces=15000", true},
	{"user.max_uts_namespaces", "0", "sysctl -w user.max_uts_namespaces=15000", true},
	{"user.max_ipc_namespaces", "0", "sysctl -w user.max_ipc_namespaces=15000", true},
}

// readSettings reads those that the kernel has.
func readSettings() map[string]string {
	values := map[string]string{}
	for _, s := range settings {
		data, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.path, ".", "/"))
		if err == nil {
			values[s.path] = strings.TrimSpace(string(data))
		}
	}
	return values
}

func forbidden(err error, values map[string]string) error {
	return fmt.Errorf("this machine does not let a program be run as a container: %w: %s", err, advice(values, os.Geteuid() == 0))
}

// advice says what to do, from the settings' values.
func advice(values map[string]string, root bool) string {
	var do []string
	for _, s := range settings {
		if values[s.path] == s.forbids && (s.rootToo || !root) {
			do = append(do, fmt.Sprintf("%s is %s: an administrator can change it with `%s`", s.path, s.forbids, s.advice))
		}
	}
	if len(do) == 0 {
		do = append(do, "no kernel setting known for it forbids it: a container's seccomp or AppArmor profile or a missing capability commonly does; Linux 5.12 or later is needed")
	}
	if !root {
		do = append(do, "or run it as root")
	}
	return strings.Join(do, "; ")
}

// Package flagcheck checks flags and environment variables. It collects all problems, so
// that a user sees them at once. It defines no flag, and reads no environment.
package flagcheck

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Problems are the problems with flags and environment variables.
type Problems []string

// Add adds a problem with a flag or variable. what is its name as the user writes it, for
// example --namespace or $POD_NAME.
func (p *Problems) Add(what string, value any, format string, args ...any) {
	*p = append(*p, fmt.Sprintf("%s %q: ", what, fmt.Sprint(value))+fmt.Sprintf(format, args...))
}

// Name checks a flag or variable that is the name of an object.
func (p *Problems) Name(what, value, meaning string, check func(string) []string) {
	if value == "" {
		*p = append(*p, fmt.Sprintf("%s is required: give %s", what, meaning))
		return
	}
	if faults := check(value); len(faults) > 0 {
		p.Add(what, value, "%s is not valid: %s", meaning, strings.Join(faults, ", "))
	}
}

// Err returns an error with all problems, beginning with intro, or nil.
func (p *Problems) Err(intro string) error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", intro, strings.Join(*p, "; "))
}

// Host returns the host of a listen address, host:port.
func Host(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("it is not host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is not a port from 0 to 65535", port)
	}
	return host, nil
}

// IsLoopback reports whether a server on host is reachable only from the same machine or
// pod.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

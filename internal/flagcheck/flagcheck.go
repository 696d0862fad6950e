// Package flagcheck holds what programs on a hub and on a managed cluster check
// their flags and environment variables by. It collects every problem, so that a
// user is told of all at once. It knows no flag itself, and reads none.
package flagcheck

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Problems are what is wrong with flags and environment variables.
type Problems []string

// Add adds a problem of the flag or variable what, which is as the user writes
// it, such as --namespace or $POD_NAME.
func (p *Problems) Add(what string, value any, format string, args ...any) {
	*p = append(*p, fmt.Sprintf("%s %q: ", what, fmt.Sprint(value))+fmt.Sprintf(format, args...))
}

// Name checks a flag or variable that names an object.
func (p *Problems) Name(what, value, meaning string, check func(string) []string) {
	if value == "" {
		*p = append(*p, fmt.Sprintf("%s is required: give %s", what, meaning))
		return
	}
	if faults := check(value); len(faults) > 0 {
		p.Add(what, value, "%s is not valid: %s", meaning, strings.Join(faults, ", "))
	}
}

// Err is one error with all problems, or nil; intro begins it.
func (p *Problems) Err(intro string) error {
	if len(*p) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", intro, strings.Join(*p, "; "))
}

// Host is the host of an address to listen on, host:port.
func Host(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", errors.New("it is no host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q is no port from 0 to 65535", port)
	}
	return host, nil
}

// IsLoopback says whether what listens on host is reached from this machine, or
// pod, alone.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

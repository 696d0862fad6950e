package view

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reset returns the error of a request whose connection was reset.
func reset(source string, port int) error {
	return &url.Error{Op: "Get", URL: "https://api:6443/api", Err: &net.OpError{Op: "read", Net: "tcp",
		Source: &net.TCPAddr{IP: net.ParseIP(source), Port: port}, Addr: &net.TCPAddr{IP: net.ParseIP(source), Port: 6443},
		Err: os.NewSyscallError("read", syscall.ECONNRESET)}}
}

func TestSteady(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"IPv4", reset("10.0.0.1", 40001), `Get "https://api:6443/api": read tcp 10.0.0.1:6443: read: connection reset by peer`},
		{"IPv6", reset("fd00::1", 40002), `Get "https://api:6443/api": read tcp [fd00::1]:6443: read: connection reset by peer`},
		{"wrapped, with that of an earlier attempt", fmt.Errorf("list: %w - error from a previous attempt: %s",
			reset("10.0.0.1", 40003), "write tcp 10.0.0.1:40004->10.0.0.1:6443: write: broken pipe"),
			`list: Get "https://api:6443/api": read tcp 10.0.0.1:6443: read: connection reset by peer` +
				` - error from a previous attempt: write tcp 10.0.0.1:6443: write: broken pipe`},
		{"nothing of the network", errors.New(`configmaps "a" is forbidden`), `configmaps "a" is forbidden`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Steady(test.err)
			if diff := cmp.Diff(test.want, got.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if errors.Is(test.err, syscall.ECONNRESET) != errors.Is(got, syscall.ECONNRESET) {
				t.Error("the cause is lost")
			}
		})
	}
	if Steady(nil) != nil {
		t.Error("no error has become one")
	}
}

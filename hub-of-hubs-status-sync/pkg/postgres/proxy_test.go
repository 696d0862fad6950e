//go:build postgres

package postgres

import (
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// proxy passes connections on to a server until it is told to cut them.
type proxy struct {
	address string
	// left is how many bytes the server may still send; none is cut while it is negative.
	left atomic.Int64
}

func newProxy(tb testing.TB, target string) *proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { listener.Close() })
	p := &proxy{address: listener.Addr().String()}
	p.left.Store(-1)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(client, target)
		}
	}()
	return p
}

func (p *proxy) pass(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client) }()
	buffer := make([]byte, 1024)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.left.Load() >= 0 && p.left.Add(int64(-n)) <= 0 {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// through returns a database's URL by way of a proxy.
func (p *proxy) through(tb testing.TB, address string) string {
	tb.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	parsed.Host = p.address
	return parsed.String()
}

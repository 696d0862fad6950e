package services

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// record is a connection that records what happens to it.
type record struct {
	net.Conn
	deadline time.Time
	closed   bool
}

func (r *record) SetReadDeadline(t time.Time) error {
	r.deadline = t
	return nil
}

func (r *record) Close() error {
	r.closed = true
	return nil
}

func recordingRelay() *udpRelay {
	endpoint := netip.MustParseAddrPort("10.201.1.3:53")
	return &udpRelay{
		port: &port{now: time.Now, backends: to(endpoint)}, idle: defaultUDPIdle, sessions: map[netip.AddrPort]*session{},
		dial: func(netip.AddrPort) (net.Conn, error) { return &record{}, nil },
	}
}

func clientOn(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("10.201.1.9"), uint16(port))
}

// TestUDPSessionsAreLimited checks that the session without traffic for the longest time makes room.
func TestUDPSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := recordingRelay()
		for i := range maxSessions {
			u.start(clientOn(i))
			time.Sleep(time.Millisecond)
		}
		u.keep(u.current(clientOn(0)))
		oldest := u.current(clientOn(1))
		u.start(clientOn(maxSessions))
		if len(u.sessions) != maxSessions || u.current(clientOn(1)) != nil || !oldest.Conn.(*record).closed {
			t.Errorf("%d sessions, that of the oldest traffic: %v", len(u.sessions), u.sessions[clientOn(1)])
		}
		if u.current(clientOn(0)) == nil || u.current(clientOn(maxSessions)) == nil {
			t.Error("a session with later traffic has ended")
		}
	})
}

// TestUDPSessionsLastLongerAfterTheSecondDatagram checks that a client which comes once, as in a scan or
// a DNS question, gives its session up soon.
func TestUDPSessionsLastLongerAfterTheSecondDatagram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := recordingRelay()
		left := func(s *session) time.Duration { return time.Until(s.Conn.(*record).deadline) }
		s := u.start(clientOn(1))
		u.keep(s) // the first datagram
		u.keep(s) // the reply
		if got := left(s); got != 30*time.Second {
			t.Errorf("after the first datagram and its reply: got %s, want 30s", got)
		}
		u.keep(u.current(clientOn(1)))
		if got := left(s); got != 2*time.Minute {
			t.Errorf("after the second datagram: got %s, want 2m", got)
		}
	})
}

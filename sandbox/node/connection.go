package node

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// connection is a client's connection whose context ends when it is closed or the node ends.
// When the client of an exec goes away, the streaming code closes the connection, which the
// request has taken over. net/http alone does not always end the request's context then.
type connection struct {
	net.Conn
	ctx  context.Context
	gone context.CancelFunc
}

func (c *connection) Close() error {
	c.gone()
	return c.Conn.Close()
}

// connections accepts connections of this kind.
type connections struct{ net.Listener }

func (l connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn}, nil
}

// connectionContext is the http.Server's ConnContext.
func connectionContext(ctx context.Context, conn net.Conn) context.Context {
	c := connectionOf(conn)
	c.ctx, c.gone = context.WithCancel(ctx)
	return c.ctx
}

// closeTakenOver is the http.Server's ConnState: it closes connections that requests have
// taken over, which the server does not, when the node ends.
func closeTakenOver(conn net.Conn, state http.ConnState) {
	if state == http.StateHijacked {
		context.AfterFunc(connectionOf(conn).ctx, func() { _ = conn.Close() })
	}
}

func connectionOf(conn net.Conn) *connection {
	return conn.(*tls.Conn).NetConn().(*connection) // the listener's kind
}

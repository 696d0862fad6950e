package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"
)

// attachBuffer is the number of writes of a program that an attached client may be behind.
const attachBuffer = 1024

// errSlowClient ends an attached client that does not read.
var errSlowClient = errors.New("detached: the client does not read the container's output as fast as it is written")

// tap passes one output of a container to its log and to the attached clients. It never
// waits for a client: a stopped terminal must not stop the program.
type tap struct {
	log *logStream

	mu      sync.Mutex
	clients map[*tapClient]bool
	closed  bool
}

// tapClient is an attached client.
type tapClient struct {
	chunks chan []byte
	slow   bool
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	for c := range t.clients {
		select {
		case c.chunks <- bytes.Clone(p):
		default:
			c.slow = true
			t.remove(c)
		}
	}
	t.mu.Unlock()
	return t.log.Write(p)
}

// add attaches a client; its channel is closed by the end of the output, or by drop.
func (t *tap) add() *tapClient {
	c := &tapClient{chunks: make(chan []byte, attachBuffer)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		close(c.chunks)
		return c
	}
	if t.clients == nil {
		t.clients = map[*tapClient]bool{}
	}
	t.clients[c] = true
	return c
}

// drop detaches a client.
func (t *tap) drop(c *tapClient) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(c)
}

func (t *tap) remove(c *tapClient) {
	if t.clients[c] {
		delete(t.clients, c)
		close(c.chunks)
	}
}

// close writes the last incomplete line to the log and detaches all clients.
func (t *tap) close() error {
	t.mu.Lock()
	t.closed = true
	for c := range t.clients {
		t.remove(c)
	}
	t.mu.Unlock()
	return t.log.flush()
}

// attachment is an output and where a client wants it.
type attachment struct {
	from *tap
	to   io.Writer
}

// attach copies the outputs until the container has ended or ctx ends.
func attach(ctx, container context.Context, outputs []attachment) error {
	if len(outputs) == 0 { // the client only writes
		select {
		case <-ctx.Done():
		case <-container.Done():
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range outputs {
		c := o.from.add()
		defer context.AfterFunc(ctx, func() { o.from.drop(c) })()
		group.Go(func() error {
			for chunk := range c.chunks {
				if _, err := o.to.Write(chunk); err != nil {
					o.from.drop(c)
					return err
				}
			}
			if c.slow {
				return errSlowClient
			}
			return nil
		})
	}
	return group.Wait()
}

package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAwaitFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ended")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	await := func(ctx context.Context) chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			awaitFile(ctx, name)
		}()
		return done
	}
	ended, canceled := await(t.Context()), await(ctx)
	select {
	case <-ended:
		t.Fatal("it did not wait for the file")
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	<-canceled
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// Package dirlock locks directories: Lock excludes other calls of Lock, of this process or of another. It does not stop
// programs that do not call it.
package dirlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// poll is the period of looking whether the lock is free: flock(2) has no timeout.
const poll = 200 * time.Millisecond

// Lock locks the directory, which exists, and waits while another process has it. It calls waiting, which may be nil,
// once if it has to wait. The error is that of ctx if that ends first. The kernel releases the lock when its holder ends
// in any way.
func Lock(ctx context.Context, dir string, waiting func()) (unlock func(), err error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock a directory: %w", err)
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another process that uses %s: %w", dir, ctx.Err()), file.Close())
		case <-time.After(poll):
		}
	}
}

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is the period of looking whether the lock is free: flock(2) has no timeout.
const lockPoll = 200 * time.Millisecond

// lock takes the lock of the programs' directory, and waits while another process builds there. The
// kernel releases it when its holder ends in any way.
func (b *builder) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(b.Out, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the programs' directory: %w", err)
	}
	for told := false; ; told = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", b.Out, err), file.Close())
		}
		if !told {
			b.say("waiting for another process that builds the programs in %s", b.Out)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another build in %s: %w", b.Out, ctx.Err()), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

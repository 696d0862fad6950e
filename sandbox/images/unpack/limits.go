package unpack

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Limits bound what one image may take.
type Limits struct {
	// Bytes is the size of all files of all layers, and of an archive, in bytes.
	Bytes int64
	// Files is the number of entries of all layers.
	Files int64
	// Free is the space that an image must leave on the disk, in bytes.
	Free int64
}

// DefaultLimits are far beyond the images of controllers, and below what fills a disk.
var DefaultLimits = Limits{Bytes: 16 << 30, Files: 1_000_000, Free: 1 << 30}

// within returns the limits that the free space of a directory's disk allows.
func (l Limits) within(dir string) (Limits, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return l, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	free := int64(min(stat.Bavail*uint64(stat.Bsize), 1<<62))
	if free <= l.Free {
		return l, fmt.Errorf("%s has %d MiB free, and an image must leave %d: free some", dir, free>>20, l.Free>>20)
	}
	l.Bytes = min(l.Bytes, free-l.Free)
	return l, nil
}

// budget is what is left of the limits.
type budget struct {
	limits Limits
	used   Limits
}

func (b *budget) file() error {
	if b.used.Files++; b.used.Files > b.limits.Files {
		return fmt.Errorf("more than %d files: this is the limit of an image", b.limits.Files)
	}
	return nil
}

func (b *budget) bytes(n int) error {
	if b.used.Bytes += int64(n); b.used.Bytes > b.limits.Bytes {
		return fmt.Errorf("more than %d bytes: this is the limit of an image, or what the disk has left", b.limits.Bytes)
	}
	return nil
}

// reader reads within a budget until ctx ends.
type reader struct {
	ctx    context.Context
	from   io.Reader
	budget *budget
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(p)
	if exceeded := r.budget.bytes(n); exceeded != nil {
		return 0, exceeded
	}
	return n, err
}

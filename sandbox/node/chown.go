package node

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// chowner changes a file's owner where an id is given.
type chowner func(path string, uid, gid *int64) error

// chownMapped changes the owner where the user namespace has the id. Where it
// does not (a sandbox without root maps one user), every process runs as the one
// user that also owns the file, so nothing is lost.
func chownMapped(path string, uid, gid *int64) error {
	id := func(p *int64) int {
		if p == nil {
			return -1
		}
		return int(*p)
	}
	if uid == nil && gid == nil {
		return nil
	}
	err := os.Lchown(path, id(uid), id(gid))
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("change the owner: %w", err)
	}
	return nil
}

package postgrestest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// DiskUsed returns the bytes of all files of a temporary server: tables, indexes, write-ahead log and log. It is 0 for a
// given server.
func (s *Server) DiskUsed() (int64, error) {
	if s.dir == "" {
		return 0, nil
	}
	var total int64
	err := filepath.WalkDir(s.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreGone(err)
		}
		total += info.Size()
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure PostgreSQL's directory: %w", err)
	}
	return total, nil
}

// ignoreGone ignores the error of a file that the server has just removed.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

package launcher

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keepLogs copies the logs of a sandbox that could not be started to a directory
// beside it, which the next failure replaces, and returns it; empty when there
// is nothing to keep. It is for a person to read: what cannot be copied is left
// out.
func keepLogs(dir string) string {
	kept := dir + ".failed-logs"
	if err := os.RemoveAll(kept); err != nil {
		return ""
	}
	found := false
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		target := filepath.Join(kept, strings.TrimPrefix(path, dir))
		if os.MkdirAll(filepath.Dir(target), 0o700) == nil && os.WriteFile(target, content, 0o600) == nil {
			found = true
		}
		return nil
	})
	if !found {
		return ""
	}
	return kept
}

package artifact

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A file is one entry of an archive.
type file struct {
	name string // in the archive
	path string // on disk; empty for a directory
	mode int64
}

// filesBelow returns the files below a directory, sorted, with names below
// prefix. A file is executable for all users or for none, independent of the umask.
func filesBelow(dir, prefix string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := file{name: filepath.ToSlash(filepath.Join(prefix, name)), path: path, mode: 0o644}
		if info.Mode()&0o100 != 0 {
			f.mode = 0o755
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// writeTarball writes a compressed tar archive.
func writeTarball(w io.Writer, files []file, date time.Time) error {
	z := gzip.NewWriter(w) // its header has neither a name nor a time
	return errors.Join(writeTar(z, files, date), z.Close())
}

// writeTar writes a tar archive, sorted by name. Every entry belongs to root and
// has the same date.
func writeTar(w io.Writer, files []file, date time.Time) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
	t := tar.NewWriter(w)
	for _, f := range files {
		if err := writeEntry(t, f, date); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, f file, date time.Time) (err error) {
	header := &tar.Header{Name: f.name, Mode: f.mode, ModTime: date, Format: tar.FormatPAX}
	if f.path == "" {
		header.Typeflag, header.Name = tar.TypeDir, f.name+"/"
		return t.WriteHeader(header)
	}
	content, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	info, err := content.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(t, content)
	return err
}

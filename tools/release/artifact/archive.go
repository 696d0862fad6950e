package artifact

import (
	"archive/tar"
	"archive/zip"
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

// sorted returns the files in the order of their names.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// writeZip writes a zip archive, sorted by name. Every entry has the same date. It
// has no directories.
func writeZip(w io.Writer, files []file, date time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range sorted(files) {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		header.SetMode(fs.FileMode(f.mode))
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := copyFile(entry, f.path); err != nil {
			return err
		}
	}
	return z.Close()
}

func copyFile(w io.Writer, path string) (err error) {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	_, err = io.Copy(w, content)
	return err
}

// writeTar writes a tar archive, sorted by name. Every entry belongs to root and
// has the same date.
func writeTar(w io.Writer, files []file, date time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range sorted(files) {
		if err := writeEntry(t, f, date); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, f file, date time.Time) error {
	header := &tar.Header{Name: f.name, Mode: f.mode, ModTime: date, Format: tar.FormatPAX}
	if f.path == "" {
		header.Typeflag, header.Name = tar.TypeDir, f.name+"/"
		return t.WriteHeader(header)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	return copyFile(t, f.path)
}

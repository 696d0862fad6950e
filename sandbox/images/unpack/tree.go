package unpack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// maxPath is the kernel's limit of a path in bytes.
const maxPath = 4096

// tree is a file system that layers are applied to.
//
// Links in the path of an entry are resolved as in a container, where the root is the
// image's (securejoin). The files are written through an os.Root, which follows no link out
// of the directory.
type tree struct {
	root  *os.Root
	files *budget
	// owners is true if the caller can give files away.
	owners bool
	// modes are the directories' modes. They are set at the end, because a directory may
	// forbid to write to it.
	modes map[string]fs.FileMode
	// added are the paths of the current layer: its whiteouts do not concern them.
	added map[string]bool
}

// newTree returns a tree in an empty directory, whose path has no symbolic links.
func newTree(dir string, limits Limits) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open an image's directory: %w", err)
	}
	return &tree{
		root: root, files: &budget{limits: limits}, owners: os.Geteuid() == 0, modes: map[string]fs.FileMode{},
	}, nil
}

// apply applies a layer, by the rules of OCI:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md
func (t *tree) apply(ctx context.Context, layer io.Reader) error {
	t.added = map[string]bool{}
	for entries := tar.NewReader(layer); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		err = t.files.file()
		if err == nil {
			err = t.entry(header, reader{ctx, entries, t.files})
		}
		if err != nil {
			return fmt.Errorf("entry %.200q: %w", header.Name, err)
		}
	}
}

// finish sets the directories' modes. Their owner may always write, so that they can be
// removed.
func (t *tree) finish() error {
	return fs.WalkDir(t.root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		mode, known := t.modes[at]
		if !known {
			mode = 0o755
		}
		return t.root.Chmod(at, mode|0o700)
	})
}

func (t *tree) entry(header *tar.Header, content io.Reader) error {
	at, err := entryPath(header.Name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(header.Mode & 0o777)
	if at == "." {
		t.modes["."] = mode
		return nil
	}
	if name, ok := strings.CutPrefix(path.Base(at), ".wh."); ok {
		return t.whiteout(path.Dir(at), name)
	}
	switch header.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil
	}
	if at, err = t.resolve(at, true); err != nil {
		return err
	}
	if err := t.create(at, header, content); err != nil {
		return err
	}
	for above := at; !t.added[above]; above = path.Dir(above) {
		t.added[above] = true
	}
	return t.describe(at, header, mode)
}

// create creates what the entry is about, in the place of what is there.
func (t *tree) create(at string, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeDir:
		if info, err := t.root.Lstat(at); err == nil && info.IsDir() {
			return nil
		}
		return errors.Join(t.root.RemoveAll(at), t.root.Mkdir(at, 0o700))
	case tar.TypeReg, tar.TypeGNUSparse:
		return t.createFile(at, content)
	case tar.TypeSymlink:
		return errors.Join(t.root.RemoveAll(at), t.root.Symlink(header.Linkname, at))
	case tar.TypeLink:
		return t.link(at, header.Linkname)
	}
	return fmt.Errorf("its type %q is unknown", header.Typeflag)
}

func (t *tree) createFile(at string, content io.Reader) error {
	if err := t.root.RemoveAll(at); err != nil {
		return err
	}
	// a new file: an existing one may have other links
	file, err := t.root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link creates a hard link to a file of the image.
func (t *tree) link(at, name string) error {
	target, err := entryPath(name)
	if err != nil {
		return err
	}
	if target, err = t.resolve(target, false); err != nil {
		return err
	}
	info, err := t.root.Lstat(target)
	if err != nil {
		return fmt.Errorf("hard link to %.200q: %w", name, err)
	}
	if info.IsDir() {
		return fmt.Errorf("hard link to the directory %.200q", name)
	}
	if target == at {
		return nil
	}
	return errors.Join(t.root.RemoveAll(at), t.root.Link(target, at))
}

// describe sets the entry's owner, mode and time.
func (t *tree) describe(at string, header *tar.Header, mode fs.FileMode) error {
	if header.Typeflag == tar.TypeLink {
		return nil // it is that of the other name
	}
	if t.owners {
		err := t.root.Lchown(at, header.Uid, header.Gid)
		// as in a user namespace that does not map the owner
		if err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if header.Mode&0o1000 != 0 {
			mode |= fs.ModeSticky // as /tmp
		}
		t.modes[at] = mode
	case tar.TypeReg, tar.TypeGNUSparse:
		return errors.Join(t.root.Chmod(at, mode), t.root.Chtimes(at, header.ModTime, header.ModTime))
	}
	return nil
}

// whiteout hides a file of earlier layers, or all files of a directory.
func (t *tree) whiteout(dir, name string) error {
	switch {
	case name == ".wh..opq":
		at, err := t.resolve(path.Join(dir, "any"), false)
		if err != nil {
			return err
		}
		return t.hideChildren(path.Dir(at))
	case strings.HasPrefix(name, ".wh."):
		return nil // of AUFS itself
	case name == "" || name == "." || name == "..":
		return errors.New("it hides no file")
	}
	at, err := t.resolve(path.Join(dir, name), false)
	if err != nil {
		return err
	}
	return t.hide(at)
}

func (t *tree) hide(at string) error {
	if t.added[at] {
		return t.hideChildren(at)
	}
	err := t.root.RemoveAll(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (t *tree) hideChildren(dir string) error {
	info, err := t.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir()) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(t.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := t.hide(path.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the path with the links above its last part resolved. With create, it
// creates the directories above.
func (t *tree) resolve(at string, create bool) (string, error) {
	above, err := securejoin.SecureJoin(t.root.Name(), path.Dir(at))
	if err != nil {
		return "", err
	}
	if above, err = filepath.Rel(t.root.Name(), above); err != nil {
		return "", err
	}
	if create {
		// a directory that no entry names counts like one that has an entry
		for dir := above; ; dir = path.Dir(dir) {
			if _, err := t.root.Lstat(dir); err == nil {
				break
			}
			if err := t.files.file(); err != nil {
				return "", err
			}
		}
		if err := t.root.MkdirAll(above, 0o700); err != nil {
			return "", err
		}
	}
	return path.Join(above, path.Base(at)), nil
}

// entryPath returns the path of an entry's name, relative to the root. It refuses a name
// that leads out of the root, which no tool writes by mistake.
func entryPath(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("its name has more than %d bytes", maxPath)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the path %.200q leads out of the image", name)
		}
	}
	return path.Join(".", path.Clean("/" + name)[1:]), nil
}

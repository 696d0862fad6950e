package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

const (
	// file holds the mappings. A change replaces it under a lock on lockFile.
	file     = "images.json"
	lockFile = "images.lock"
	// drafts has a directory for the files of each image that is not the user's own
	// directory. Whoever needs one holds a shared lock on it.
	drafts = "images"
	// rootDir is the part of a draft's directory for the root file system.
	rootDir = "root"
)

// directoryUser is the user of a directory that is mapped as an image: "nonroot" in common
// base images.
const directoryUser = "65532:65532"

// Store holds the mappings of one sandbox. It reads the file at every look-up, so it
// finds images that are added while the sandbox runs. Several programs may use it at once.
//
// Nothing changes the files of an image once it is mapped. A mapping that replaces another
// one points to other files. The store removes the old ones at the first change after the
// last user has released them (see [Store.Use]).
type Store struct{ dir string }

// In returns the store of the sandbox's directory.
func In(dir string) Store { return Store{dir} }

// Dir returns the directory of the sandbox.
func (s Store) Dir() string { return s.dir }

// Add maps the image, or every image of the repository, to a directory of the user. Its
// programs run as user 65532 unless the pod sets the user.
func (s Store) Add(name, dir string) error {
	return s.AddAll(map[string]Image{name: {Dir: dir, Config: Config{User: directoryUser}}})
}

// AddAll maps all the images or none.
func (s Store) AddAll(added map[string]Image) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	images, err := s.All()
	if err != nil {
		return err
	}
	for name, image := range added {
		images[key(name)] = image
	}
	content, err := json.MarshalIndent(s.relative(images), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the images: %w", err)
	}
	path := filepath.Join(s.dir, file)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("write the images: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write the images: %w", err)
	}
	return s.sweep(images)
}

// Resolve returns an image, and whether it is mapped.
func (s Store) Resolve(name string) (Image, bool, error) {
	images, err := s.All()
	if err != nil {
		return Image{}, false, err
	}
	exact := key(name)
	if exact == repository(name) {
		exact += ":latest"
	}
	image, ok := images[exact]
	if !ok {
		image, ok = images[repository(name)]
	}
	return image, ok, nil
}

// All returns every mapped name and its image.
func (s Store) All() (map[string]Image, error) {
	images := map[string]Image{}
	path := filepath.Join(s.dir, file)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return images, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the images: %w", err)
	}
	if err := json.Unmarshal(content, &images); err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	for name, image := range images {
		if !filepath.IsAbs(image.Dir) {
			image.Dir = filepath.Join(s.dir, image.Dir)
			images[name] = image
		}
	}
	return images, nil
}

// relative returns the images with the directories of drafts relative to the store. The
// programs that use the store may know its directory by different paths.
func (s Store) relative(images map[string]Image) map[string]Image {
	images = maps.Clone(images)
	for name, image := range images {
		if s.isDraft(filepath.Dir(image.Dir)) {
			image.Dir = filepath.Join(drafts, filepath.Base(filepath.Dir(image.Dir)), rootDir)
			images[name] = image
		}
	}
	return images
}

func (s Store) isDraft(dir string) bool { return filepath.Dir(dir) == filepath.Join(s.dir, drafts) }

// Known returns the mapped names, sorted.
func (s Store) Known() ([]string, error) {
	all, err := s.All()
	return slices.Sorted(maps.Keys(all)), err
}

// useAttempts limits how often Use looks an image up that is replaced at the same time.
const useAttempts = 10

// Use returns an image, and whether it is mapped. The store keeps its files until the caller
// calls release, or ends.
func (s Store) Use(name string) (image Image, release func(), ok bool, err error) {
	for range useAttempts {
		image, ok, err = s.Resolve(name)
		if err != nil || !ok {
			return image, nil, ok, err
		}
		draft := filepath.Dir(image.Dir)
		if !s.isDraft(draft) {
			return image, func() {}, true, nil // the user's own directory
		}
		var held *os.File
		if held, err = flock(draft, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
			continue // it is being removed
		}
		if _, err = os.Stat(image.Dir); err == nil {
			return image, func() { _ = held.Close() }, true, nil
		}
		_ = held.Close() // it was removed before the lock
	}
	return Image{}, nil, false, fmt.Errorf("use image %s, which is being replaced: %w", name, err)
}

// Draft is a directory for the files of a new image.
type Draft struct {
	store Store
	dir   string
	lock  *os.File
}

// Draft returns a new draft with an empty root. The caller fills it, adds it by AddAll, and
// closes it.
func (s Store) Draft() (*Draft, error) {
	unlock, err := s.lock() // against a sweep between the next three steps
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Join(s.dir, drafts), 0o700); err != nil {
		return nil, fmt.Errorf("create the images' directory: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Join(s.dir, drafts), "")
	if err != nil {
		return nil, fmt.Errorf("create an image's directory: %w", err)
	}
	held, err := flock(dir, syscall.LOCK_SH)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	d := &Draft{store: s, dir: dir, lock: held}
	if err := os.Mkdir(d.Root(), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("create an image's root: %w", err), held.Close(), os.RemoveAll(dir))
	}
	return d, nil
}

// Root returns the directory of the image's root file system.
func (d *Draft) Root() string { return filepath.Join(d.dir, rootDir) }

// Close removes the files unless an image is mapped to them.
func (d *Draft) Close() error {
	unlock, err := d.store.lock()
	if err != nil {
		return errors.Join(err, d.lock.Close())
	}
	defer unlock()
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("release an image's directory: %w", err)
	}
	images, err := d.store.All()
	if err != nil {
		return err
	}
	return d.store.sweep(images)
}

// sweep removes the files that no image is mapped to and nobody uses. The caller holds the
// store's lock.
func (s Store) sweep(images map[string]Image) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, drafts))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the images' directories: %w", err)
	}
	mapped := map[string]bool{}
	for _, image := range images {
		mapped[filepath.Dir(image.Dir)] = true
	}
	var errs []error
	for _, entry := range entries {
		dir := filepath.Join(s.dir, drafts, entry.Name())
		if mapped[dir] {
			continue
		}
		held, err := flock(dir, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue // in use
		}
		errs = append(errs, os.RemoveAll(dir), held.Close())
	}
	return errors.Join(errs...)
}

// lock waits for the store's lock.
func (s Store) lock() (unlock func(), err error) {
	path := filepath.Join(s.dir, lockFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the images' lock: %w", err)
	}
	_ = file.Close()
	held, err := flock(path, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}

// flock opens a file or directory and locks it until it is closed.
func flock(path string, how int) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

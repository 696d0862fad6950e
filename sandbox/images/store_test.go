package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestConcurrentAdds checks that no mapping is lost when many commands add images at once.
func TestConcurrentAdds(t *testing.T) {
	dir := t.TempDir()
	const count = 50
	var adds sync.WaitGroup
	for i := range count {
		adds.Go(func() {
			if err := In(dir).Add(fmt.Sprintf("app:v%d", i), "/root"); err != nil {
				t.Error(err)
			}
		})
	}
	adds.Wait()
	if all, err := In(dir).All(); err != nil || len(all) != count {
		t.Errorf("%d images, %v, want %d", len(all), err, count)
	}
}

// addDraft maps the image to a new draft whose file has the content.
func addDraft(store Store, name, content string) error {
	draft, err := store.Draft()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(draft.Root(), "file"), []byte(content), 0o600),
		store.AddAll(map[string]Image{name: {Dir: draft.Root()}}), draft.Close())
}

func mustAddDraft(t *testing.T, store Store, name, content string) {
	t.Helper()
	if err := addDraft(store, name, content); err != nil {
		t.Fatal(err)
	}
}

// use uses the image and requires the content of its file.
func use(t *testing.T, store Store, name, content string) (Image, func()) {
	t.Helper()
	image, release, ok, err := store.Use(name)
	if !ok || err != nil {
		t.Fatalf("Use: %t, %v", ok, err)
	}
	requireFile(t, image, content)
	return image, release
}

func requireFile(t *testing.T, image Image, content string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(image.Dir, "file")); err != nil || string(got) != content {
		t.Errorf("the image's file has %q, %v, want %q", got, err, content)
	}
}

func requireDrafts(t *testing.T, store Store, want int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(store.dir, drafts))
	if err != nil || len(entries) != want {
		t.Errorf("%d directories, %v, want %d", len(entries), err, want)
	}
}

// TestUseKeepsReplacedFiles checks that a user keeps the files that it started with, and that
// they are removed after the last user has released them.
func TestUseKeepsReplacedFiles(t *testing.T) {
	store := In(t.TempDir())
	mustAddDraft(t, store, "app:v1", "one")
	first, releaseFirst := use(t, store, "app:v1", "one")
	_, releaseSecond := use(t, store, "app:v1", "one")
	mustAddDraft(t, store, "app:v1", "two")
	_, release := use(t, store, "app:v1", "two")
	defer release()
	releaseSecond()
	mustAddDraft(t, store, "other", "any")
	requireFile(t, first, "one")
	requireDrafts(t, store, 3)
	releaseFirst()
	mustAddDraft(t, store, "other", "any")
	requireDrafts(t, store, 2)
}

// TestUseWhileReplaced uses an image that is being replaced all the time: each use sees whole
// files.
func TestUseWhileReplaced(t *testing.T) {
	store := In(t.TempDir())
	mustAddDraft(t, store, "app", "whole")
	done := make(chan struct{})
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := addDraft(store, "app", "whole"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 200 {
		image, release := use(t, store, "app", "whole")
		requireFile(t, image, "whole")
		release()
	}
	close(done)
	replacing.Wait()
}

func TestDraftLeavesNothingUnlessAdded(t *testing.T) {
	store := In(t.TempDir())
	draft, err := store.Draft()
	if err != nil {
		t.Fatal(err)
	}
	mustAddDraft(t, store, "app", "any")
	requireDrafts(t, store, 2) // a change keeps the open one
	if err := draft.Close(); err != nil {
		t.Fatal(err)
	}
	requireDrafts(t, store, 1)
}

// TestStoreByAnotherPath checks that programs may know the store's directory by different
// paths, for example through a link.
func TestStoreByAnotherPath(t *testing.T) {
	store, link := In(t.TempDir()), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(store.dir, link); err != nil {
		t.Fatal(err)
	}
	mustAddDraft(t, In(link), "app", "any")
	mustAddDraft(t, store, "other", "any")
	image, release := use(t, store, "app", "any")
	mustAddDraft(t, In(link), "app", "new")
	requireFile(t, image, "any")
	release()
}

func TestUseOfADirectoryOfTheUser(t *testing.T) {
	store, dir := In(t.TempDir()), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Add("app", dir); err != nil {
		t.Fatal(err)
	}
	_, release := use(t, store, "app:v1", "mine")
	release()
	mustAddDraft(t, store, "app", "new")
	requireFile(t, Image{Dir: dir}, "mine")
}

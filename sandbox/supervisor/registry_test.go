package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

func TestAccounts(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "passwd")
	for _, test := range []struct {
		name         string
		prepare      func(etc string) error
		want, refuse string
	}{
		{"no file", func(string) error { return nil }, "", ""},
		{"a file", func(etc string) error { return os.WriteFile(filepath.Join(etc, "passwd"), []byte("root:x:0:0"), 0o600) }, "root:x:0:0", ""},
		{"a link within the image", func(etc string) error {
			if err := os.WriteFile(filepath.Join(etc, "users"), []byte("root:x:0:0"), 0o600); err != nil {
				return err
			}
			return os.Symlink("/etc/users", filepath.Join(etc, "passwd"))
		}, "root:x:0:0", ""},
		{"a link out of the image leads nowhere", func(etc string) error {
			if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(etc, "passwd"))
		}, "", ""},
		{"a FIFO, which would block", func(etc string) error { return syscall.Mkfifo(filepath.Join(etc, "passwd"), 0o600) }, "", "not a file"},
		{"a huge file", func(etc string) error {
			return errors.Join(os.WriteFile(filepath.Join(etc, "passwd"), nil, 0o600), os.Truncate(filepath.Join(etc, "passwd"), maxAccounts+1))
		}, "", "not a file of at most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			etc := filepath.Join(root, "etc")
			if err := errors.Join(os.Mkdir(etc, 0o755), test.prepare(etc)); err != nil {
				t.Fatal(err)
			}
			passwd, group, err := accounts(root)
			if string(passwd) != test.want || group != nil || (err != nil) != (test.refuse != "") || (err != nil && !strings.Contains(err.Error(), test.refuse)) {
				t.Errorf("accounts = %q, %q, %v, want %q, %q", passwd, group, err, test.want, test.refuse)
			}
		})
	}
}

func TestRegistryReportsUnusableImages(t *testing.T) {
	image := filepath.Join(t.TempDir(), "image")
	dir := t.TempDir()
	r := registry{images.In(dir)}
	if err := errors.Join(os.MkdirAll(filepath.Join(image, "etc/passwd"), 0o755), r.store.Add("app", image)); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := r.Use("app"); ok || err == nil || !strings.Contains(err.Error(), "read /etc/passwd of image "+image) {
		t.Errorf("an image with a directory as /etc/passwd: %t, %v", ok, err)
	}
	if _, _, ok, err := r.Use("other"); ok || err != nil {
		t.Errorf("an image that is not mapped: %t, %v", ok, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "images.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := r.Use("app"); ok || err == nil || !strings.Contains(err.Error(), "parse") {
		t.Errorf("a list of images that does not parse: %t, %v", ok, err)
	}
}

func TestRegistryKnowsASimilarImage(t *testing.T) {
	r := registry{images.In(t.TempDir())}
	if err := r.store.Add("app:v1", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if all, similar := r.Known("app:v2"); strings.Join(all, " ") != "app:v1" || similar != "app:v1" {
		t.Errorf("Known = %q, %q", all, similar)
	}
}

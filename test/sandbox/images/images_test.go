package images

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"quay.io/org/app:latest":          "quay.io/org/app",
		"quay.io/org/app":                 "quay.io/org/app",
		"localhost:5000/app":              "localhost:5000/app",
		"localhost:5000/app:v1":           "localhost:5000/app",
		"quay.io/org/app@sha256:0123":     "quay.io/org/app",
		"quay.io/org/app:v1@sha256:01234": "quay.io/org/app",
		"app":                             "app",
	} {
		if got := Repository(image); got != want {
			t.Errorf("Repository(%q) = %q, want %q", image, got, want)
		}
	}
}

func TestStore(t *testing.T) {
	store := In(t.TempDir())
	if dir, known, err := store.Resolve("quay.io/org/app:latest"); err != nil || dir != "" || len(known) != 0 {
		t.Fatalf("Resolve in an empty store = %q, %v, %v", dir, known, err)
	}
	for repository, dir := range map[string]string{"quay.io/org/app": "/one", "app": "/two"} {
		if err := store.Add(repository, dir); err != nil {
			t.Fatal(err)
		}
	}
	dir, known, err := store.Resolve("quay.io/org/app:v2")
	if err != nil || dir != "/one" {
		t.Errorf("Resolve = %q, %v, want /one", dir, err)
	}
	if diff := cmp.Diff([]string{"app", "quay.io/org/app"}, known); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	root := t.TempDir()
	for _, test := range []struct{ name, mapping, want string }{
		{"nothing to map to", "quay.io/org/app", "is not IMAGE=DIRECTORY"},
		{"no image", "=" + root, "is not IMAGE=DIRECTORY"},
		{"not a directory", "app=" + root + "/missing", "build it first"},
	} {
		if _, _, err := Parse(test.mapping); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Parse(%q) = %v, want %q", test.name, test.mapping, err, test.want)
		}
	}
	repository, dir, err := Parse("quay.io/org/app:latest=" + root)
	if err != nil || repository != "quay.io/org/app" || dir != root {
		t.Errorf("Parse = %q, %q, %v", repository, dir, err)
	}
}

package images

import (
	"maps"
	"slices"
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
		"docker.io/library/app:v1":        "app",
		"docker.io/org/app":               "org/app",
		"docker.io/library/org/app":       "library/org/app",
	} {
		if got := repository(image); got != want {
			t.Errorf("repository(%q) = %q, want %q", image, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	store := In(t.TempDir())
	if image, ok, err := store.Resolve("quay.io/org/app:latest"); err != nil || ok {
		t.Fatalf("Resolve in an empty store = %v, %t, %v", image, ok, err)
	}
	for name, dir := range map[string]string{
		"quay.io/org/app": "/any", "quay.io/org/app:v2": "/two", "localhost:5000/one:v1": "/one",
		"latest:latest": "/latest", "digest:v1@sha256:01": "/digest",
	} {
		if err := store.Add(name, dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, image, want string }{
		{"a tag of a mapped repository", "quay.io/org/app:v1", "/any"},
		{"a digest of a mapped repository", "quay.io/org/app@sha256:02", "/any"},
		{"a mapping of the tag before that of the repository", "quay.io/org/app:v2", "/two"},
		{"a mapped tag", "localhost:5000/one:v1", "/one"},
		{"another tag than the mapped one", "localhost:5000/one:v2", ""},
		{"a digest where a tag is mapped", "localhost:5000/one@sha256:01", ""},
		{"no tag where another one than latest is mapped", "localhost:5000/one", ""},
		{"no tag where latest is mapped", "latest", "/latest"},
		{"a mapped digest, whatever the tag", "digest:v3@sha256:01", "/digest"},
		{"another digest, with the tag of the mapped one", "digest:v1@sha256:02", ""},
		{"the long form of a name on Docker Hub", "docker.io/library/latest", "/latest"},
		{"an image that is not known", "quay.io/org", ""},
	} {
		image, ok, err := store.Resolve(test.image)
		if err != nil || image.Dir != test.want || ok != (test.want != "") {
			t.Errorf("%s: Resolve(%q) = %q, %t, %v, want %q", test.name, test.image, image.Dir, ok, err, test.want)
		}
	}
	all, err := store.All()
	known := slices.Sorted(maps.Keys(all))
	if diff := cmp.Diff([]string{"digest@sha256:01", "latest:latest", "localhost:5000/one:v1", "quay.io/org/app", "quay.io/org/app:v2"}, known); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name, of, image string
		want            bool
	}{
		{"any tag of the repository", "quay.io/org/app", "quay.io/org/app:v1", true},
		{"any digest of the repository", "quay.io/org/app", "quay.io/org/app@sha256:01", true},
		{"a port is no tag", "localhost:5000/app", "localhost:5000/app:v1", true},
		{"the same tag", "app:v1", "app:v1", true},
		{"another tag", "app:v1", "app:v2", false},
		{"the same digest, whatever the tag", "app:v1@sha256:01", "app:v2@sha256:01", true},
		{"another repository", "app", "app2", false},
	} {
		if got := Matches(test.of, test.image); got != test.want {
			t.Errorf("%s: Matches(%q, %q) = %v", test.name, test.of, test.image, got)
		}
	}
}

func TestMaps(t *testing.T) {
	known := []string{"example.com/app:v1", "example.com/tool"}
	for _, test := range []struct {
		name, image string
		want        bool
	}{
		{"a mapped tag", "example.com/app:v1", true},
		{"another tag", "example.com/app:v2", false},
		{"all tags, of which one is mapped", "example.com/app", true},
		{"a tag of a mapped repository", "example.com/tool:v3", true},
		{"another registry", "quay.io/app:v1", false},
	} {
		if got := Maps(known, test.image); got != test.want {
			t.Errorf("%s: Maps(%q) = %t", test.name, test.image, got)
		}
	}
}

func TestSimilar(t *testing.T) {
	known := []string{"example.com/app:v1", "localhost:5000/app:v2", "quay.io/org/tool"}
	for _, test := range []struct{ name, image, want string }{
		{"another tag", "example.com/app:v2", "example.com/app:v1"},
		{"the same repository before another one", "localhost:5000/app:v1", "localhost:5000/app:v2"},
		{"another registry", "quay.io/app:v1", "example.com/app:v1"},
		{"no registry", "tool:v1", "quay.io/org/tool"},
		{"another name", "example.com/application:v1", ""},
		{"a registry's name is no image's", "example.com", ""},
	} {
		if got := Similar(known, test.image); got != test.want {
			t.Errorf("%s: Similar(%q) = %q, want %q", test.name, test.image, got, test.want)
		}
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
	name, dir, err := Parse("quay.io/org/app:latest=" + root)
	if err != nil || name != "quay.io/org/app:latest" || dir != root {
		t.Errorf("Parse = %q, %q, %v", name, dir, err)
	}
}

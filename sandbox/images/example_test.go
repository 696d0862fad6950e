package images_test

import (
	"fmt"
	"os"

	"open-cluster-management.io/helloworld-addon/sandbox/images"
)

// A mapping of a repository is for all its tags, a mapping of a tag for that alone.
func ExampleStore_Resolve() {
	dir, err := os.MkdirTemp("", "images-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store := images.In(dir)
	for image, root := range map[string]string{"example.com/app": "/roots/app", "example.com/tool:v1": "/roots/tool-v1"} {
		if err := store.Add(image, root); err != nil {
			fmt.Println(err)
		}
	}
	for _, image := range []string{"example.com/app:v2", "example.com/tool:v1", "example.com/tool:v2"} {
		found, ok, err := store.Resolve(image)
		fmt.Printf("%s: %q %t %v\n", image, found.Dir, ok, err)
	}
	// Output:
	// example.com/app:v2: "/roots/app" true <nil>
	// example.com/tool:v1: "/roots/tool-v1" true <nil>
	// example.com/tool:v2: "" false <nil>
}

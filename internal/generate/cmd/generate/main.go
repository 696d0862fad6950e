// Command generate writes the generated files of the repository in the current
// directory. It reads the kustomize bases and decides nothing itself: package
// generate has the list of files and the rules. It does not compare or commit;
// `make check-generated` fails when a file was not up to date.
package main

import (
	"fmt"
	"os"

	"open-cluster-management.io/helloworld-addon/internal/generate"
)

func main() {
	for _, output := range generate.Outputs {
		content, err := output.Content(os.DirFS("."))
		if err == nil {
			err = os.WriteFile(output.File, content, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
}

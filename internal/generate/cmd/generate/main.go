// The program generate writes the generated files of the repository in the current
// directory.
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

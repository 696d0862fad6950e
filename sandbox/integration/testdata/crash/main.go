// Command crash is an agent that says why it ends, and ends.
package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("crash: no database\n")
	os.Exit(3)
}

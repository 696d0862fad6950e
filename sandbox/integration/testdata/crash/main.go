// Command crash is an agent that says why it ends, and ends. With an argument it panics with that text.
package main

import "os"

func main() {
	if len(os.Args) > 1 {
		panic(os.Args[1])
	}
	_, _ = os.Stderr.WriteString("crash: no database\n")
	os.Exit(3)
}

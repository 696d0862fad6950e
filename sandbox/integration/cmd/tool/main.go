// Command tool is an image's program for the tests of exec: wait, spin, exit CODE, cat, which
// copies its input, and print FILE. The tests of images use it, too.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "wait":
		time.Sleep(time.Hour)
		return nil
	case len(args) == 1 && args[0] == "spin":
		for {
			_ = os.Getppid()
		}
	case len(args) == 1 && args[0] == "cat":
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case len(args) == 2 && args[0] == "print":
		content, err := os.ReadFile(args[1])
		if err == nil {
			_, err = os.Stdout.Write(content)
		}
		return err
	case len(args) == 2 && args[0] == "exit":
		code, err := strconv.Atoi(args[1])
		if err == nil {
			os.Exit(code)
		}
		return err
	}
	return fmt.Errorf("give wait, cat, print and a file, or exit and a code, not %q", args)
}

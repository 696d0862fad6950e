// Command demo-picture draws a picture of what a program prints, which it reads from its standard input and prints as it comes:
// the README's picture from the demo's output, or with --terminal what was printed on a terminal.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"open-cluster-management.io/helloworld-addon/test/demo/picture"
)

const title = "A recorded run of make demo: a ConfigMap is written on the hub, copied to the managed cluster, changed and deleted"

func main() {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	out := flags.String("out", "docs/demo.svg", "file to write the SVG to")
	terminal := flags.String("terminal", "", "draw the output as it was on a terminal, with this title for who does not see it")
	_ = flags.Parse(os.Args[1:]) // it exits when a flag is wrong
	if err := run(os.Stdin, os.Stdout, *out, *terminal); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, echo io.Writer, out, terminal string) error {
	var output strings.Builder
	if _, err := io.Copy(io.MultiWriter(&output, echo), in); err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	svg := picture.Terminal(terminal, output.String())
	if terminal == "" {
		lines, err := picture.Lines(output.String())
		if err != nil {
			return fmt.Errorf("draw the demo's output: %w", err)
		}
		svg = picture.SVG(title, lines)
	}
	if err := os.WriteFile(out, []byte(svg), 0o644); err != nil { //nolint:gosec // it is published
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

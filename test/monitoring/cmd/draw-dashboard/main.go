// Command draw-dashboard draws a dashboard of Grafana as an SVG, from what Prometheus recorded of a run. It prints which panels have
// no data.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"open-cluster-management.io/helloworld-addon/test/monitoring/dashboard"
)

func main() {
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	board := flags.String("dashboard", "", "file of the dashboard")
	data := flags.String("data", "", "file that the recording wrote")
	out := flags.String("out", "", "file to write the SVG to")
	_ = flags.Parse(os.Args[1:]) // it exits when a flag is wrong
	if err := run(*board, *data, *out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(boardFile, dataFile, out string, log io.Writer) error {
	text, err := os.ReadFile(boardFile)
	if err != nil {
		return fmt.Errorf("read --dashboard: %w", err)
	}
	board, err := dashboard.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", boardFile, err)
	}
	if text, err = os.ReadFile(dataFile); err != nil {
		return fmt.Errorf("read --data: %w", err)
	}
	var data dashboard.Data
	if err := json.Unmarshal(text, &data); err != nil {
		return fmt.Errorf("read --data=%s: %w", dataFile, err)
	}
	svg := dashboard.SVG(board, data)
	if err := os.WriteFile(out, []byte(svg), 0o644); err != nil { //nolint:gosec // it is published
		return fmt.Errorf("write --out: %w", err)
	}
	fmt.Fprintf(log, "%s: %d panels, %d bytes; without data: %q\n", out, len(board.Panels), len(svg), dashboard.Empty(board, data))
	return nil
}

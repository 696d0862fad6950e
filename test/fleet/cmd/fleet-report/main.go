// Command fleet-report writes the tables and charts of docs/fleet.md from the JSON of one
// or several runs of the fleet benchmark.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/report"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fleet-report", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: fleet-report [--page=docs/fleet.md] [--check] RUN.json...")
		flags.PrintDefaults()
	}
	page := flags.String("page", "", "the page whose tables are replaced; the charts go into the directory of its name, such as docs/fleet. Without it the tables are printed")
	check := flags.Bool("check", false, "fail when a figure misses its aim or a step did not come to its end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name the JSON of a run, such as artifacts/fleet-500.json (make bench-fleet writes it)")
	}
	records, err := read(flags.Args())
	if err != nil {
		return err
	}
	if *page == "" {
		_, err = io.WriteString(out, report.Markdown(records, "fleet"))
	} else {
		err = write(*page, records)
	}
	if err != nil || !*check {
		return err
	}
	return missed(records)
}

func read(names []string) ([]*record.Record, error) {
	var records []*record.Record
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open the figures of a run: %w", err)
		}
		r, err := record.Read(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		records = append(records, r)
	}
	return records, nil
}

// write replaces the page's tables and all charts.
func write(page string, records []*record.Record) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	directory := strings.TrimSuffix(page, filepath.Ext(page))
	text, err := report.Insert(string(content), report.Markdown(records, filepath.Base(directory)))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	old, err := filepath.Glob(filepath.Join(directory, "*.svg"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove an old chart: %w", err)
		}
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("make the directory of the charts: %w", err)
	}
	for _, c := range report.Charts(records) {
		// #nosec G306 -- it is a page's picture
		if err := os.WriteFile(filepath.Join(directory, c.File), []byte(c.SVG()), 0o644); err != nil {
			return fmt.Errorf("write a chart: %w", err)
		}
	}
	// #nosec G306 -- it is a page
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// missed returns an error that names what misses its aim.
func missed(records []*record.Record) error {
	records = report.Sort(records)
	var lines []string
	for _, r := range records {
		failures, _ := r.Missed()
		for _, line := range failures {
			lines = append(lines, fmt.Sprintf("%d clusters: %s", r.Size, line))
		}
	}
	for _, c := range record.Constant(records) {
		if !c.Pass {
			lines = append(lines, fmt.Sprintf("%s: largest by smallest over %v clusters is %.2f, aim ≤ %g", c.Metric, c.Sizes, c.Ratio, record.Spread))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%d aims were missed:\n%s", len(lines), strings.Join(lines, "\n"))
}

package calibrate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// number formats a number of requests per cluster.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// WriteTable writes the rows as a table in Markdown.
func WriteTable(out io.Writer, rows []Row) {
	fmt.Fprintln(out, "| who | request | real | simulated | simulated / real | alike | where they differ |")
	fmt.Fprintln(out, "| --- | --- | ---: | ---: | ---: | --- | --- |")
	for _, r := range rows {
		ratio, alike := "-", "yes"
		if r.Real > 0 {
			ratio = strconv.FormatFloat(r.Simulated/r.Real, 'f', 2, 64)
		}
		switch {
		case !r.OK() && r.Known != "":
			alike = "no: " + r.Known
		case !r.OK():
			alike = "**no**"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Subject, r.Request,
			number(r.Real), number(r.Simulated), ratio, alike, strings.Join(r.Phases, ", "))
	}
}

// Failed returns the rows that are not alike for no known reason.
func Failed(rows []Row) []Row {
	var failed []Row
	for _, r := range rows {
		if !r.OK() && r.Known == "" {
			failed = append(failed, r)
		}
	}
	return failed
}

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table holds the figures in the order in which they were measured.
type table struct {
	progress io.Writer
	rows     [][2]string
	figures  map[string]float64
}

// figure notes a number for programs that read the results.
func (t *table) figure(name string, value float64) {
	if t.figures == nil {
		t.figures = map[string]float64{}
	}
	t.figures[name] = value
}

// save writes the figures to a file.
func (t *table) save(file string) error {
	content, err := json.MarshalIndent(map[string]any{"rows": t.rows, "figures": t.figures}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// add adds a figure and says it at once: a long run that is ended early has said something.
func (t *table) add(what, format string, args ...any) {
	value := fmt.Sprintf(format, args...)
	t.rows = append(t.rows, [2]string{what, value})
	fmt.Fprintf(t.progress, "%s  %s: %s\n", time.Now().UTC().Format(time.TimeOnly), what, value)
}

// latencies adds the times of a repeated measurement, with details in the same row.
func (t *table) latencies(what, figure string, times []time.Duration, details ...string) {
	p50, p99 := percentile(times, 50), percentile(times, 99)
	t.add(what+", p50 / p99", "%s", strings.Join(append([]string{fmt.Sprintf("%s / %s (%d times)", round(p50), round(p99), len(times))}, details...), "; "))
	t.figure(figure+"SecondsP50", p50.Seconds())
	t.figure(figure+"SecondsP99", p99.Seconds())
}

func (t *table) write(to io.Writer) error {
	fmt.Fprintln(to, strings.Repeat("-", 100))
	writer := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintf(writer, "%s\t%s\n", row[0], row[1])
	}
	return writer.Flush()
}

// percentile is that of the nearest rank, so a value that was measured.
func percentile(values []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func perSecond(count int, d time.Duration) float64 {
	return float64(count) / d.Seconds()
}

// round shortens a duration to what is worth reading.
func round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// Package report renders the runs of the fleet benchmark for readers: tables in Markdown
// and a chart for each figure over the sizes. It is pure: it takes records and returns
// text. It judges nothing that package record has not judged.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

// The lines between which Insert puts the tables.
const (
	begin = "<!-- made by fleet-report: begin -->"
	end   = "<!-- made by fleet-report: end -->"
)

// steps are the headings, in the order of the page.
var steps = []struct{ name, title string }{
	{record.Join, "1. The clusters join"},
	{record.Enable, "2. A Placement enables the add-on on all clusters at once"},
	{record.EnablePart, "Enabled on a part of the clusters of step 1 at once"},
	{record.Hub, "The hub's part of step 2 alone: clusters as objects, without agents that need the same processors"},
	{record.Idle, "3. Idle"},
	{record.Change, "4. One change in every cluster's namespace"},
	{record.Restart, "5. Restarts, and clusters that are cut off"},
	{record.Rollout, "6. A configuration is rolled out in three groups"},
	{record.Rotate, "7. Every certificate rotates"},
	{record.Turnover, "8. A tenth of the clusters leaves, and others join"},
	{record.Distribute, "9. ConfigMapReplicaSets write to a part of the clusters, in stages, and to all at once"},
}

// Insert replaces what is between the two markers of a page.
func Insert(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, begin+"\n")
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the page needs the lines %q and %q", begin, end)
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n" + end + after, nil
}

// byStart returns the records by size, and those of one size by their time.
func byStart(records []*record.Record) []*record.Record {
	return slices.SortedStableFunc(slices.Values(records), func(a, b *record.Record) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), a.Started.Compare(b.Started))
	})
}

// Sort returns one record for each size, by size. Of several runs of one size that measured the same,
// the later one counts: a step that was run again replaces its figures and its failures.
func Sort(records []*record.Record) []*record.Record {
	bySize := map[int]*record.Record{}
	for _, r := range byStart(records) {
		earlier, ok := bySize[r.Size]
		if !ok {
			merged := *r
			bySize[r.Size] = &merged
			continue
		}
		measured := map[string]bool{}
		for _, f := range r.Figures {
			measured[f.Step+"/"+f.Subject] = true
		}
		kept := slices.DeleteFunc(slices.Clone(earlier.Figures), func(f record.Figure) bool { return measured[f.Step+"/"+f.Subject] })
		earlier.Figures = append(kept, r.Figures...)
		replaced := func(subject string) func(string) bool {
			return func(text string) bool {
				step, _, _ := strings.Cut(text, ": ")
				return measured[step+"/"+subject]
			}
		}
		earlier.Failures = append(slices.DeleteFunc(slices.Clone(earlier.Failures), replaced(record.Ours)), r.Failures...)
		earlier.Notes = append(slices.DeleteFunc(slices.Clone(earlier.Notes), replaced(record.Rival)), r.Notes...)
	}
	return slices.SortedFunc(maps.Values(bySize), func(a, b *record.Record) int { return cmp.Compare(a.Size, b.Size) })
}

// Markdown renders the tables of all steps. The charts are linked as files of the directory.
func Markdown(records []*record.Record, directory string) string {
	var out strings.Builder
	runs(&out, byStart(records))
	records = Sort(records)
	constancy(&out, records)
	charts := Charts(records)
	for _, step := range steps {
		rows := rowsOf(records, step.name)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n### %s\n\n", step.title)
		table(&out, records, rows)
		for _, c := range charts {
			if c.step == step.name {
				fmt.Fprintf(&out, "\n![%s](%s/%s)\n", c.Title, directory, c.File)
			}
		}
	}
	failures(&out, records)
	return out.String()
}

// runs tells of each run when, where and how it was made. A version that is not the same for all runs is a column.
func runs(out *strings.Builder, records []*record.Record) {
	same, differ := versionsOf(records)
	out.WriteString("| clusters | run | machine |")
	for _, name := range differ {
		fmt.Fprintf(out, " %s |", name)
	}
	fmt.Fprintf(out, " command |\n| ---: | --- | --- |%s --- |\n", strings.Repeat(" --- |", len(differ)))
	for _, r := range records {
		fmt.Fprintf(out, "| %s | %s | %d CPUs, %.0f GiB, %s, Linux %s, load %.1f before |", count(r.Size), r.Started.UTC().Format("2006-01-02 15:04 MST"),
			r.Machine.CPUs, float64(r.Machine.MemoryMiB)/1024, r.Machine.System, r.Machine.Kernel, r.Machine.Load)
		for _, name := range differ {
			fmt.Fprintf(out, " %s |", r.Versions[name])
		}
		fmt.Fprintf(out, " `%s` |\n", r.Command)
	}
	if len(same) > 0 {
		fmt.Fprintf(out, "\nVersions: %s.\n", strings.Join(same, ", "))
	}
}

// versionsOf returns the names and versions that are the same for all records, and the names of the others.
func versionsOf(records []*record.Record) (same, differ []string) {
	all := map[string]map[string]bool{}
	for _, r := range records {
		for name := range r.Versions {
			all[name] = map[string]bool{}
		}
	}
	for name, versions := range all {
		for _, r := range records {
			versions[r.Versions[name]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) > 1 {
			differ = append(differ, name)
			continue
		}
		same = append(same, name+" "+records[0].Versions[name])
	}
	return same, differ
}

// places names where the constant costs were measured, by step.
var places = map[string]string{record.Enable: "step 2", record.Hub: "the hub alone"}

// constancy tells whether the costs per cluster are the same for all sizes.
func constancy(out *strings.Builder, records []*record.Record) {
	all := record.Constant(records)
	if len(all) == 0 {
		return
	}
	out.WriteString("\n| cost per cluster | in | sizes | largest by smallest | aim |\n| --- | --- | --- | ---: | --- |\n")
	for _, c := range all {
		var sizes []string
		for _, size := range c.Sizes {
			sizes = append(sizes, count(size))
		}
		fmt.Fprintf(out, "| %s | %s | %s | %.2f | ≤ %g %s |\n", c.Metric, places[c.Step], strings.Join(sizes, ", "), c.Ratio, record.Spread, mark(c.Pass))
	}
}

// row is a line of a step's table.
type row struct {
	step, metric, unit, subject string
	// stats are those that share the line: the percentiles of a latency, or one.
	stats []string
}

var percentiles = []string{record.P50, record.P90, record.P99, record.All}

// rowsOf are the lines of a step, in the order in which the figures first came.
func rowsOf(records []*record.Record, step string) []row {
	var rows []row
	for _, r := range records {
		for _, f := range r.Figures {
			if f.Step != step {
				continue
			}
			latency := slices.Contains(percentiles, f.Stat)
			i := slices.IndexFunc(rows, func(r row) bool {
				return r.metric == f.Metric && r.unit == f.Unit && r.subject == f.Subject && slices.Contains(percentiles, r.stats[0]) == latency &&
					(latency || r.stats[0] == f.Stat)
			})
			switch {
			case i < 0:
				rows = append(rows, row{step, f.Metric, f.Unit, f.Subject, []string{f.Stat}})
			case !slices.Contains(rows[i].stats, f.Stat):
				rows[i].stats = append(rows[i].stats, f.Stat)
			}
		}
	}
	return rows
}

func table(out *strings.Builder, records []*record.Record, rows []row) {
	out.WriteString("| figure | of | unit |")
	line := "| --- | --- | --- |"
	for _, r := range records {
		fmt.Fprintf(out, " %s |", count(r.Size))
		line += " ---: |"
	}
	fmt.Fprintf(out, " aim |\n%s --- |\n", line)
	for _, row := range rows {
		label := row.metric
		if stats := strings.Join(row.stats, " / "); stats != "" {
			label += ", " + stats
		}
		fmt.Fprintf(out, "| %s | %s | %s |", label, row.subject, row.unit)
		aim := ""
		for _, r := range records {
			text, stated := cell(r, row)
			aim = cmp.Or(aim, stated)
			fmt.Fprintf(out, " %s |", text)
		}
		fmt.Fprintf(out, " %s |\n", aim)
	}
}

// cell is what a run measured for a row, with its aim.
func cell(r *record.Record, row row) (text, aim string) {
	var parts []string
	found := false
	for _, stat := range row.stats {
		i := slices.IndexFunc(r.Figures, func(f record.Figure) bool {
			return f.Step == row.step && f.Metric == row.metric && f.Unit == row.unit && f.Subject == row.subject && f.Stat == stat
		})
		if i < 0 {
			parts = append(parts, "–")
			continue
		}
		found = true
		part := short(r.Figures[i].Value)
		if pass := r.Figures[i].Pass; pass != nil {
			aim, part = r.Figures[i].Aim, part+" "+mark(*pass)
		}
		parts = append(parts, part)
	}
	if !found {
		return "–", ""
	}
	return strings.Join(parts, " / "), aim
}

func mark(pass bool) string {
	if pass {
		return "✓"
	}
	return "✗"
}

// failures lists what did not come to its end.
func failures(out *strings.Builder, records []*record.Record) {
	var lines []string
	for _, r := range records {
		for _, text := range append(slices.Clone(r.Failures), r.Notes...) {
			lines = append(lines, fmt.Sprintf("- %s clusters: %s\n", count(r.Size), text))
		}
	}
	if len(lines) > 0 {
		out.WriteString("\n### What did not come to its end\n\n" + strings.Join(lines, ""))
	}
}

// count writes a number with commas between the thousands.
func count(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short writes a value with three digits that count.
func short(x float64) string {
	if math.Abs(x) >= 100 {
		return count(int(math.Round(x)))
	}
	return fmt.Sprintf("%.3g", x)
}

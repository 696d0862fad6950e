package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// othersSuffix ends the setting of what was measured while others were there.
const othersSuffix = " others"

func isAmongOthers(setting string) bool { return strings.HasSuffix(setting, othersSuffix) }

// Among is a setting in which n other ConfigMaps are there.
func Among(setting string, n int) string {
	return fmt.Sprintf("%s, %s%s", setting, Count(n), othersSuffix)
}

// Count writes a number with commas between the thousands.
func Count(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Table writes the rows as one table, a line for each figure in the order in
// which it first came, a column for each subject, and notes below.
func Table(out io.Writer, rows []Row) error {
	all := map[string]map[key]Row{}
	var order []key
	for _, row := range rows {
		if all[row.Subject] == nil {
			all[row.Subject] = map[key]Row{}
		}
		if !slices.Contains(order, row.key()) {
			order = append(order, row.key())
		}
		all[row.Subject][row.key()] = row
	}
	notes := &notes{}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	// the writer aligns every cell to the right; the first ones are padded
	widths := [2]int{}
	for _, k := range order {
		widths[0], widths[1] = max(widths[0], len(label(k))), max(widths[1], len(k.stat))
	}
	_, _ = fmt.Fprintf(table, "\t\t%s\t\t\n", strings.Join(Subjects, "\t"))
	for _, k := range order {
		cells := make([]string, 0, len(Subjects))
		for _, subject := range Subjects {
			cells = append(cells, cell(all[subject], k, notes))
		}
		_, _ = fmt.Fprintf(table, "%-*s\t%-*s\t%s\t  %s\n", widths[0], label(k), widths[1], k.stat,
			strings.Join(cells, "\t"), strings.TrimRight(fmt.Sprintf("%-8s %s", k.unit, against(all, k)), " "))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return notes.write(out)
}

func label(k key) string {
	if k.setting == "" {
		return k.metric
	}
	return k.metric + ", " + k.setting
}

// cell is one subject's figure, with the number of its note.
func cell(rows map[key]Row, k key, notes *notes) string {
	row, ok := rows[k]
	if !ok {
		return "-"
	}
	text := "none"
	if row.Value.Known() {
		text = figure(float64(row.Value))
	}
	if row.Note != "" {
		text += fmt.Sprintf(" [%d]", notes.add(row.Subject+": "+row.Note))
	}
	return text
}

// figure has about three digits that count.
func figure(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10 || x <= -10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// notes are numbered from 1; the same text has one number.
type notes struct{ all []string }

func (n *notes) add(text string) int {
	if i := slices.Index(n.all, text); i >= 0 {
		return i + 1
	}
	n.all = append(n.all, text)
	return len(n.all)
}

func (n *notes) write(out io.Writer) error {
	for i, note := range n.all {
		if _, err := fmt.Fprintf(out, "[%d] %s\n", i+1, note); err != nil {
			return fmt.Errorf("write the notes: %w", err)
		}
	}
	return nil
}

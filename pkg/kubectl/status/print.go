package status

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// printer prints reports, or the changed rows of a later one.
type printer interface {
	print(r *report.Report) error
	// changed prints rows that have changed. Times are relative to now.
	changed(r *report.Report, rows []report.Row) error
}

// formats are the values of --output, beside the default.
var formats = []string{"wide", "json", "yaml"}

// byDefault is what is printed without --output.
const byDefault = "a table"

func newPrinter(format string, out io.Writer, colors bool) printer {
	switch format {
	case "json":
		return &document{out: out, marshal: func(r any) ([]byte, error) {
			text, err := json.MarshalIndent(r, "", "  ")
			return append(text, '\n'), err
		}}
	case "yaml":
		return &document{out: out, marshal: yaml.Marshal, separator: "---\n"}
	default:
		return &table{out: out, colors: colors, wide: format == "wide"}
	}
}

// document prints JSON or YAML. Each change is a document with the changed clusters and the totals of all.
type document struct {
	out       io.Writer
	marshal   func(any) ([]byte, error)
	separator string
	printed   bool
}

func (d *document) print(r *report.Report) error {
	text, err := d.marshal(r)
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	if d.printed {
		text = append([]byte(d.separator), text...)
	}
	d.printed = true
	_, err = d.out.Write(text)
	return err
}

func (d *document) changed(r *report.Report, rows []report.Row) error {
	part := *r
	part.Clusters = rows
	return d.print(&part)
}

// table prints aligned columns, as kubectl does.
type table struct {
	out          io.Writer
	wide, colors bool
	// widths are those of the columns, which stay while more rows are printed.
	widths []int
}

// The columns. The last two are for -o wide.
var columns = []string{"CLUSTER", "STATE", "ENABLED", "AVAILABLE", "SYNCED", "NOT-SYNCED", "AGENT", "EXPIRES", "FOR", "IMAGE", "MESSAGE"}

const (
	stateColumn = 1
	wideColumns = 2
	gap         = 3 // spaces between two columns, as in kubectl
)

func (t *table) print(r *report.Report) error {
	if len(r.Clusters) == 0 {
		_, err := fmt.Fprintln(t.out, "No clusters found.")
		return err
	}
	if err := t.rows(r.Time.Time, r.Clusters, true); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "\n%s\n", summary(r.Totals))
	return err
}

func (t *table) changed(r *report.Report, rows []report.Row) error {
	// The header was not printed where there was no cluster at first.
	return t.rows(r.Time.Time, rows, t.widths == nil)
}

func (t *table) rows(now time.Time, rows []report.Row, header bool) error {
	lines := [][]string{}
	if header {
		lines = append(lines, columns)
	}
	for _, row := range rows {
		lines = append(lines, cells(row, now))
	}
	if t.widths == nil {
		t.widths = make([]int, len(columns))
	}
	for _, line := range lines {
		for i, cell := range line {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for i, line := range lines {
		health := report.Health(-1)
		if row := i - (len(lines) - len(rows)); row >= 0 {
			health = rows[row].State.Health()
		}
		text.WriteString(t.line(line, health))
	}
	_, err := io.WriteString(t.out, text.String())
	return err
}

// line returns one line. Its state has the colour of health.
func (t *table) line(line []string, health report.Health) string {
	if !t.wide {
		line = line[:len(line)-wideColumns]
	}
	var text strings.Builder
	for i, cell := range line {
		padding := ""
		if i < len(line)-1 {
			padding = strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+gap)
		}
		if i == stateColumn && t.colors {
			cell = colored(cell, health)
		}
		text.WriteString(cell + padding)
	}
	return text.String() + "\n"
}

func colored(cell string, health report.Health) string {
	code := map[report.Health]string{report.Well: "32", report.Passing: "33", report.Wrong: "31"}[health]
	if code == "" {
		return cell
	}
	return "\x1b[" + code + "m" + cell + "\x1b[0m"
}

const none = "-"

func cells(row report.Row, now time.Time) []string {
	image, agent := none, none
	if row.Agent != nil {
		image, agent = row.Agent.Image, row.Agent.Version
		if !row.Agent.Running {
			agent = "(" + agent + ")"
		}
	}
	all := []string{row.Name, string(row.State), fmt.Sprint(row.Enabled), string(row.Available), synced(row.ConfigMaps), notSynced(row.ConfigMaps),
		agent, until(row.CredentialsExpire, now), since(row.Since, now), image, row.Message}
	for i := range all {
		if all[i] = terminal.Printable(all[i]); all[i] == "" {
			all[i] = none
		}
	}
	return all
}

func synced(c *report.ConfigMaps) string {
	if c == nil {
		return none
	}
	return fmt.Sprintf("%d/%d", c.Synced, c.Total)
}

// notSyncedStates are the states of ConfigMaps that are not synced, worst first.
var notSyncedStates = []v1alpha1.MirrorState{v1alpha1.MirrorFailed, v1alpha1.MirrorConflict, v1alpha1.MirrorContested, v1alpha1.MirrorPending}

func notSynced(c *report.ConfigMaps) string {
	if c == nil {
		return none
	}
	var parts []string
	other := c.Total - c.Synced
	for _, state := range notSyncedStates {
		if count := c.NotSynced[state]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, state))
			other -= count
		}
	}
	if other > 0 {
		parts = append(parts, fmt.Sprintf("%d other", other))
	}
	return strings.Join(parts, ", ")
}

func since(t *metav1.Time, now time.Time) string {
	if t == nil {
		return none
	}
	// The clocks of the hub and of this machine may differ.
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}

func until(t *metav1.Time, now time.Time) string {
	switch {
	case t == nil:
		return none
	case !now.Before(t.Time):
		return "expired"
	default:
		return duration.HumanDuration(t.Sub(now))
	}
}

// summary returns the totals in one line. For example,
// "5 clusters, 4 with the add-on: 3 well, 1 not (1 Conflict). 15 of 16 ConfigMaps synced."
func summary(t report.Totals) string {
	clusters := "clusters"
	if t.Clusters == 1 {
		clusters = "cluster"
	}
	text := fmt.Sprintf("%d %s, %d with the add-on", t.Clusters, clusters, t.Enabled)
	if t.Enabled > 0 {
		text += fmt.Sprintf(": %d well, %d not", t.Enabled-t.NotWell, t.NotWell)
	}
	var parts []string
	for _, state := range report.States {
		if count := t.States[state]; count > 0 && state.Health() != report.Well {
			parts = append(parts, fmt.Sprintf("%d %s", count, state))
		}
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return fmt.Sprintf("%s. %d of %d ConfigMaps synced.", text, t.ConfigMaps.Synced, t.ConfigMaps.Total)
}

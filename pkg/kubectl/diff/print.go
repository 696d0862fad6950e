package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/diff/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// formats are the values of --output, beside the default.
var formats = []string{"wide", "json", "yaml"}

// byDefault is what is printed without --output.
const byDefault = "unified diffs"

// What is printed without -o wide: so many names of clusters of a group, and so many groups and findings.
const (
	maxNames  = 10
	maxGroups = 20
)

// warn prints what is not considered and what could not be read.
func (g *gatherer) warn(out io.Writer, r *plan.Report) {
	if others := g.file.NotConsidered(); others != "" {
		fmt.Fprintf(out, "warning: not considered: %s\n", terminal.Printable(others))
	}
	for _, n := range r.NotRead {
		fmt.Fprintf(out, "warning: cannot read %s, so %s: %s\n", n.Resource, n.Lacks, terminal.Printable(n.Error))
	}
	if g.notAsked > 0 {
		fmt.Fprintf(out, "warning: whether the API server accepts %s could not be asked, so they are merged as kubectl apply does: %s\n",
			count(g.notAsked, "object"), terminal.Printable(g.why.Error()))
	}
}

// show prints the report.
func show(r *plan.Report, format string, out io.Writer, colors bool) error {
	var text []byte
	var err error
	switch format {
	case "json":
		var buffer bytes.Buffer
		encoder := json.NewEncoder(&buffer)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false) // a diff is easier to read with its < and >
		err = encoder.Encode(r)
		text = buffer.Bytes()
	case "yaml":
		text, err = yaml.Marshal(r)
	default:
		w := &writer{colors: colors, wide: format == "wide"}
		w.report(r)
		text = []byte(w.String())
	}
	if err != nil {
		return fmt.Errorf("encode the diff: %w", err)
	}
	_, err = out.Write(text)
	return err
}

// writer writes the report for a person.
type writer struct {
	strings.Builder
	colors, wide bool
}

// Colours of a terminal. https://en.wikipedia.org/wiki/ANSI_escape_code#Select_Graphic_Rendition_parameters
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// line writes a line in a colour.
func (w *writer) line(color, text string) {
	if w.colors && color != "" {
		text = "\x1b[" + color + "m" + text + "\x1b[0m"
	}
	w.WriteString(text + "\n")
}

func (w *writer) report(r *plan.Report) {
	groups, findings := r.Groups, r.Findings
	if !w.wide {
		groups, findings = groups[:min(len(groups), maxGroups)], findings[:min(len(findings), maxGroups)]
	}
	for _, group := range groups {
		w.group(group)
	}
	if more := len(r.Groups) - len(groups); more > 0 {
		w.line("", fmt.Sprintf("... and %s with other changes: -o wide shows all, CLUSTER... some\n", count(more, "group")))
	}
	for _, f := range findings {
		w.finding(f)
	}
	if more := len(r.Findings) - len(findings); more > 0 {
		w.line("", fmt.Sprintf("... and %s more: -o wide shows all", count(more, "line")))
	}
	if len(findings) > 0 {
		w.line("", "")
	}
	w.line("", summary(r))
}

func (w *writer) group(group plan.Group) {
	heading := count(len(group.Clusters), "cluster") + ": " + w.names(group.Clusters)
	if group.Context {
		heading += " (unchanged lines are those of " + group.Clusters[0] + ")"
	}
	w.line(bold, heading)
	for _, change := range group.ConfigMaps {
		for line := range strings.Lines(change.Diff) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
				w.line(bold, line)
			case line[0] == '-':
				w.line(red, line)
			case line[0] == '+':
				w.line(green, line)
			case line[0] == '@':
				w.line(cyan, line)
			default:
				w.line("", line)
			}
		}
	}
	w.line("", "")
}

func (w *writer) finding(f plan.Finding) {
	color, where := "", ""
	switch f.Effect {
	case plan.Incomplete, plan.Blocked:
		color = red
	case plan.Note:
		color = yellow
	}
	switch {
	case len(f.Clusters) == 1:
		where = " on " + w.names(f.Clusters)
	case len(f.Clusters) > 1:
		where = fmt.Sprintf(" on %s (%s)", count(len(f.Clusters), "cluster"), w.names(f.Clusters))
	}
	w.line(color, fmt.Sprintf("%s, %s%s: %s", f.Effect, f.Reason, where, terminal.Printable(f.Message)))
}

// names returns the first names, and how many there are beyond. With -o wide it returns all.
func (w *writer) names(names []string) string {
	if w.wide {
		return strings.Join(names, ", ")
	}
	return text.List(names, maxNames)
}

// summary returns the last line.
func summary(r *plan.Report) string {
	t, text := r.Totals, "No cluster changes"
	if !r.Complete {
		text = "No cluster is known to change"
	}
	if t.Changed > 0 {
		var parts []string
		for _, part := range []struct {
			number int
			action string
		}{{t.Created, "created"}, {t.Updated, "updated"}, {t.Removed, "removed"}} {
			if part.number > 0 {
				parts = append(parts, count(part.number, "ConfigMap")+" "+part.action)
			}
		}
		text = fmt.Sprintf("%d of %s change: %s", t.Changed, count(t.Clusters, "cluster"), strings.Join(parts, ", "))
	}
	if t.Blocked > 0 {
		text += fmt.Sprintf("; on %s a change is blocked", count(t.Blocked, "cluster"))
	}
	return text + "."
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

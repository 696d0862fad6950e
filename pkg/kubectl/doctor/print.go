package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/terminal"
)

// Report is what doctor prints.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Now is when the hub was asked, by the clock of the person who asked.
	Now time.Time `json:"time"`
	// Well reports whether nothing is wrong on any of the clusters.
	Well     bool                  `json:"well"`
	Clusters []diagnosis.Diagnosis `json:"clusters"`

	// all reports whether every cluster was asked about. The text then only counts those without a finding.
	all bool
}

func (r *Report) print(format string, out io.Writer, colors bool) error {
	r.Well = !slices.ContainsFunc(r.Clusters, func(d diagnosis.Diagnosis) bool { return !d.Well })
	r.TypeMeta = metav1.TypeMeta{Kind: "Diagnosis", APIVersion: "doctor.helloworld.open-cluster-management.io/v1alpha1"}
	var text []byte
	var err error
	switch format {
	case "json":
		text, err = json.MarshalIndent(r, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(r)
	default:
		text = []byte(r.text(colors))
	}
	if err != nil {
		return fmt.Errorf("encode the diagnosis: %w", err)
	}
	_, err = out.Write(text)
	return err
}

// text returns the report for a person. Clusters with the same causes are one entry.
func (r *Report) text(colors bool) string {
	w := &writer{colors: colors}
	for _, n := range r.notRead() {
		w.line(0, "Not judged: cannot read %s: %s", n.Resource, n.Error)
	}
	examined, wrong := 0, 0
	for _, group := range grouped(r.Clusters) {
		if group[0].Cluster != "" { // else it is the hub alone
			examined += len(group)
		}
		if !group[0].Well {
			wrong += len(group)
		}
		if !r.all || len(group[0].Findings) > 0 || group[0].Cluster == "" {
			w.group(group, len(group[0].NotRead) > 0)
		}
	}
	if r.all || examined > 1 {
		w.line(0, "%s examined from the hub, %d not well.", clusters(examined), wrong)
	}
	return w.String()
}

func clusters(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// notRead returns what could not be read of any cluster, once each.
func (r *Report) notRead() []diagnosis.NotRead {
	var result []diagnosis.NotRead
	for _, d := range r.Clusters {
		for _, n := range d.NotRead {
			if !slices.Contains(result, n) {
				result = append(result, n)
			}
		}
	}
	return result
}

// grouped returns the clusters by their causes, in the order in which the causes come first.
func grouped(all []diagnosis.Diagnosis) [][]diagnosis.Diagnosis {
	var groups [][]diagnosis.Diagnosis
	index := map[string]int{}
	for _, d := range all {
		key := causes(d)
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

func causes(d diagnosis.Diagnosis) string {
	var reasons []string
	for _, f := range d.Findings {
		reasons = append(reasons, string(f.Reason))
	}
	return strings.Join(reasons, " ")
}

type writer struct {
	strings.Builder
	colors bool
}

func (w *writer) line(indent int, format string, args ...any) {
	w.WriteString(strings.Repeat(" ", indent) + terminal.Printable(fmt.Sprintf(format, args...)) + "\n")
}

func (w *writer) colored(code, text string) string {
	if !w.colors {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// mostNames is how many clusters of a group are named.
const mostNames = 20

// group writes the first of the clusters whole, and names the others.
func (w *writer) group(group []diagnosis.Diagnosis, unread bool) {
	w.heading(group, unread)
	for i, f := range group[0].Findings {
		w.finding(i+1, f)
	}
	if others := group[1:]; len(others) > 0 && len(group[0].Findings) > 0 {
		var names []string
		for _, d := range others {
			names = append(names, d.Cluster)
		}
		w.line(2, "The same causes on %s: %s", clusters(len(others)), text.List(names, mostNames))
	}
	w.WriteString("\n")
}

// heading writes how the clusters of a group are.
func (w *writer) heading(group []diagnosis.Diagnosis, unread bool) {
	first := group[0]
	nothing := "nothing is wrong."
	if unread {
		nothing = "nothing wrong was found, in what could be read."
	}
	switch {
	case first.Well && first.Cluster == "":
		w.line(0, "The hub: %s No cluster has the add-on.", nothing)
	case first.Well && len(first.Findings) > 0:
		w.line(0, "%s: the add-on works, with something to look at.", first.Cluster)
	case first.Well:
		for _, d := range group {
			w.line(0, "%s: %s", d.Cluster, nothing)
			if v := d.Registration; v != nil {
				w.line(0, "OCM's registration agent is in %s. %s", diagnosis.Situation(v.Situation), v.WillDo)
			}
		}
	case first.Cluster == "":
		w.line(0, "The hub:")
	default:
		w.line(0, "%s: not well.", first.Cluster)
	}
}

const (
	width = 3 // of the number before a finding
	docs  = "https://github.com/open-cluster-management-io/helloworld-addon/blob/main/"
)

func (w *writer) finding(number int, f diagnosis.Finding) {
	w.WriteString("\n" + fmt.Sprintf("%d. ", number) + w.colored("31", terminal.Printable(string(f.Reason))) + ": " + terminal.Printable(f.Message) + "\n")
	if len(f.Consequences) > 0 {
		w.line(width, "Because of that:")
		for _, c := range f.Consequences {
			w.line(width, "- %s: %s", c.Reason, c.Message)
		}
	}
	if len(f.Do) > 0 {
		w.line(width, "What to do:")
	}
	for _, s := range f.Do {
		w.line(width, "- %s", s.Text)
		if s.Command != "" {
			w.WriteString("\n" + strings.Repeat(" ", width+4) + w.colored("36", terminal.Printable(s.Command)) + "\n\n")
		}
	}
	if f.Page != "" {
		w.line(width, "More: %s%s", docs, f.Page)
	}
}

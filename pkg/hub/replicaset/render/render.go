// Package render makes the ConfigMaps of each cluster from the sources of a ConfigMapReplicaSet.
//
//	sources, values ── NewRevision ──► Revision ── Encode, Decode ──► data of a ControllerRevision
//	                                      │
//	                                   Compile
//	                                      ▼
//	        ManagedCluster ──────► Program.Render ──► Contents of the cluster's ConfigMaps
//
// It is pure: it reads and writes no object, and knows no rollout. What is wrong on every cluster,
// for example a $(NAME) without a value, is an error of Compile. What is wrong on one cluster, for
// example a missing label, is an error of Render.
package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// MaxValue is how many bytes a value may have on a cluster. It is the limit of a value's default in
// the CRD; the values of labels and claims are shorter.
const MaxValue = 4096

// maxProblems is how many problems an error of Compile names.
const maxProblems = 10

// Program renders one revision for clusters. It can be used by several goroutines at once.
type Program struct {
	values    []value
	templates []template
}

// value is a value's definition, and its program if it has an expression.
type value struct {
	v1alpha1.Value
	program cel.Program
}

// template is a parsed source.
type template struct {
	Content
	// entries are the parsed entries of Data, by key.
	entries []entry
	// fixed is the size of BinaryData in bytes.
	fixed int
}

type entry struct {
	key  string
	text text
}

// Compile returns the program of a revision. The error names every problem, up to ten: an
// expression that does not compile, and a $(NAME) that has no value.
func Compile(revision Revision) (*Program, error) {
	p := &Program{}
	var problems []string
	index := map[string]int{}
	for _, definition := range revision.Values {
		compiled := value{Value: definition}
		var err error
		switch {
		case definition.Expression != "":
			compiled.program, err = compileExpression(definition.Expression)
		case definition.Label == "" && definition.Claim == "":
			err = errors.New("it has no label, claim or expression")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("value %s: %v", definition.Name, err))
		}
		index[definition.Name] = len(p.values)
		p.values = append(p.values, compiled)
	}
	lookup := func(name string) (int, bool) { i, ok := index[name]; return i, ok }
	for _, source := range revision.Sources {
		parsed, unknown := parseSource(source, lookup)
		p.templates = append(p.templates, parsed)
		problems = append(problems, unknown...)
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return p, nil
}

// parseSource returns the template of a source, and a problem for each unknown name of a key.
func parseSource(source Content, index func(string) (int, bool)) (template, []string) {
	parsed := template{Content: source, fixed: Content{BinaryData: source.BinaryData}.Size()}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(source.Data)) {
		text, unknown := parse(source.Data[key], index)
		parsed.entries = append(parsed.entries, entry{key: key, text: text})
		slices.Sort(unknown)
		for _, name := range slices.Compact(unknown) {
			problems = append(problems, fmt.Sprintf("ConfigMap %s, key %s: $(%[3]s) has no value: add it to spec.values, or write $$(%[3]s) for the text",
				source.Name, key, shorten(name)))
		}
	}
	return parsed, problems
}

// shorten cuts a name, which may be everything between $( and a ) far away.
func shorten(name string) string {
	const most = 63 // the longest name of a value
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// Render returns what the ConfigMaps of a cluster hold, by name. It evaluates only values that a
// source uses. The error names the ConfigMap, the key and the value.
func (p *Program) Render(cluster *clusterv1.ManagedCluster) ([]Content, error) {
	on := evaluation{cluster: cluster, values: p.values, results: make([]string, len(p.values)), known: make([]bool, len(p.values))}
	contents := make([]Content, 0, len(p.templates))
	for _, t := range p.templates {
		content, err := t.render(&on)
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// render returns the content on one cluster. No text is expanded before the size of all is known.
func (t template) render(on *evaluation) (Content, error) {
	content, total := t.Content, t.fixed
	for _, e := range t.entries {
		for _, r := range e.text.references {
			if err := on.evaluate(int(r.value)); err != nil {
				return Content{}, fmt.Errorf("ConfigMap %s, key %s, value %s: %w", t.Name, e.key, on.values[r.value].Name, err)
			}
		}
		total += e.text.size(on.sizeOf)
	}
	if total > MaxContent {
		return Content{}, fmt.Errorf("ConfigMap %s has %d bytes on ManagedCluster %s, and may have at most %d", t.Name, total, on.cluster.Name, MaxContent)
	}
	if len(t.entries) > 0 {
		content.Data = make(map[string]string, len(t.entries))
	}
	for _, e := range t.entries {
		content.Data[e.key] = e.text.expand(on.results, e.text.size(on.sizeOf))
	}
	return content, nil
}

// evaluation has the values of one cluster, each as soon as a source uses it.
type evaluation struct {
	cluster *clusterv1.ManagedCluster
	// view is what expressions see of the cluster, nil before the first one.
	view    map[string]any
	values  []value
	results []string
	known   []bool
}

func (e *evaluation) sizeOf(i int) int { return len(e.results[i]) }

// evaluate makes results[i] the value on this cluster.
func (e *evaluation) evaluate(i int) error {
	if e.known[i] {
		return nil
	}
	result, err := e.result(e.values[i])
	if err != nil {
		return err
	}
	if len(result) > MaxValue {
		return fmt.Errorf("it has %d bytes on ManagedCluster %s, and may have at most %d", len(result), e.cluster.Name, MaxValue)
	}
	e.results[i], e.known[i] = result, true
	return nil
}

func (e *evaluation) result(v value) (string, error) {
	if v.program != nil {
		return e.expression(v.program)
	}
	kind, name := "label", v.Label
	result, found := e.cluster.Labels[v.Label]
	if v.Label == "" {
		kind, name = "claim", v.Claim
		result, found = claimOf(e.cluster, v.Claim)
	}
	switch {
	case found:
		return result, nil
	case v.Default != nil:
		return *v.Default, nil
	}
	return "", fmt.Errorf("ManagedCluster %s has no %s %s, and the value has no default", e.cluster.Name, kind, name)
}

func (e *evaluation) expression(program cel.Program) (string, error) {
	if e.view == nil {
		e.view = viewOf(e.cluster)
	}
	result, err := evaluate(program, e.view)
	if err != nil {
		return "", fmt.Errorf("evaluate the expression on ManagedCluster %s: %w", e.cluster.Name, err)
	}
	return result, nil
}

// claimOf returns the value of a cluster claim, and reports whether the cluster has it.
func claimOf(cluster *clusterv1.ManagedCluster, name string) (string, bool) {
	for _, claim := range cluster.Status.ClusterClaims {
		if claim.Name == name {
			return claim.Value, true
		}
	}
	return "", false
}

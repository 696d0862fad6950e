package plan

import (
	"fmt"
	"strconv"
	"strings"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

const (
	// maxShown is how many characters of a text a change shows, contextShown how many before the first difference.
	maxShown, contextShown = 60, 20
	// absent stands for an entry that is not there.
	absent = "(none)"
)

// Changes returns a line for each change of the source.
func (w SourceWrite) Changes() (lines []string) {
	var before render.Content
	if w.Present != nil {
		before = render.ContentOf(w.Present)
	}
	after := w.Former
	for _, key := range union(before.Data, after.Data) {
		was, is := before.Data[key], after.Data[key]
		_, there := before.Data[key]
		if _, stays := after.Data[key]; there && stays && was == is {
			continue
		}
		same := commonPrefix(was, is)
		lines = append(lines, changeLine("data."+key, shown(before.Data, key, same), shown(after.Data, key, same)))
	}
	for _, key := range union(before.BinaryData, after.BinaryData) {
		_, there := before.BinaryData[key]
		if _, stays := after.BinaryData[key]; there && stays && string(before.BinaryData[key]) == string(after.BinaryData[key]) {
			continue
		}
		from, to := size(before.BinaryData, key), size(after.BinaryData, key)
		if from == to {
			to = "other " + to
		}
		lines = append(lines, changeLine("binaryData."+key, from, to))
	}
	if before.Immutable != after.Immutable {
		lines = append(lines, changeLine("immutable", strconv.FormatBool(before.Immutable), strconv.FormatBool(after.Immutable)))
	}
	return lines
}

// Changes returns a line for each change of the spec.
func (w SpecWrite) Changes(set *v1alpha1.ConfigMapReplicaSet) (lines []string) {
	if w.ConfigMaps != nil {
		lines = append(lines, changeLine("spec.configMaps", nameList(set.Spec.ConfigMaps), nameList(w.ConfigMaps)))
	}
	if w.Values == nil && !w.NoValues {
		return lines
	}
	was, is := valuesByName(set.Spec.Values), valuesByName(w.Values)
	for _, name := range union(was, is) {
		from, to := absent, absent
		if value, ok := was[name]; ok {
			from = definition(value)
		}
		if value, ok := is[name]; ok {
			to = definition(value)
		}
		if from != to {
			lines = append(lines, changeLine("spec.values $("+name+")", from, to))
		}
	}
	return lines
}

func changeLine(what, from, to string) string { return fmt.Sprintf("%s: %s -> %s", what, from, to) }

func nameList(refs []v1alpha1.ConfigMapReference) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.Name
	}
	return strings.Join(names, ", ")
}

// commonPrefix returns how many bytes two texts have in common at their beginning.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// shown returns an entry, quoted, from a little before its first difference.
func shown(entries map[string]string, key string, same int) string {
	value, ok := entries[key]
	if !ok {
		return absent
	}
	from := max(0, same-contextShown)
	if len(value) <= maxShown {
		from = 0
	}
	rest := strings.ToValidUTF8(value[from:], "")
	short := rest
	if runes := []rune(rest); len(runes) > maxShown {
		short = string(runes[:maxShown])
	}
	text := strconv.Quote(short)
	if from > 0 {
		text = "…" + text
	}
	if short != rest {
		text += "…"
	}
	return text
}

func size(entries map[string][]byte, key string) string {
	value, ok := entries[key]
	if !ok {
		return absent
	}
	return fmt.Sprintf("%d bytes", len(value))
}

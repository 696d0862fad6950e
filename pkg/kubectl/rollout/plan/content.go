package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// Describe returns what a revision holds, for a person: its ConfigMaps with $(NAME) in the places of values, and
// what these stand for.
func Describe(set string, revision Revision) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s with revision %s, created %s", Named(set), revision, revision.Created.UTC().Format(time.RFC3339))
	if revision.State != "" {
		fmt.Fprintf(&text, ", %s", revision.State)
	}
	fmt.Fprintln(&text)
	if revision.Problem != "" {
		fmt.Fprintf(&text, "\nIts content is not usable: %s\n", revision.Problem)
		return text.String()
	}
	for _, source := range revision.Content.Sources {
		fmt.Fprintf(&text, "\nConfigMap %s", source.Name)
		if source.Immutable {
			fmt.Fprint(&text, " (immutable)")
		}
		fmt.Fprintln(&text)
		for _, key := range slices.Sorted(maps.Keys(source.Data)) {
			describeEntry(&text, key, source.Data[key])
		}
		for _, key := range slices.Sorted(maps.Keys(source.BinaryData)) {
			fmt.Fprintf(&text, "  %s: %d bytes of binaryData\n", key, len(source.BinaryData[key]))
		}
	}
	if len(revision.Content.Values) > 0 {
		fmt.Fprint(&text, "\nValues\n")
	}
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, value := range revision.Content.Values {
		fmt.Fprintf(table, "  $(%s)\t%s\n", value.Name, definition(value))
	}
	_ = table.Flush() // a strings.Builder has no errors
	return text.String()
}

// describeEntry writes an entry of data. One with several lines is indented; one whose characters would not be
// seen, or would move the cursor of a terminal, is quoted.
func describeEntry(text *strings.Builder, key, value string) {
	switch lines := strings.Split(strings.TrimSuffix(value, "\n"), "\n"); {
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }) || value == "":
		fmt.Fprintf(text, "  %s: %q\n", key, value)
	case len(lines) == 1:
		fmt.Fprintf(text, "  %s: %s\n", key, lines[0])
	default:
		fmt.Fprintf(text, "  %s:\n", key)
		for _, line := range lines {
			fmt.Fprintf(text, "    %s\n", line)
		}
	}
}

// definition returns what a value stands for.
func definition(value v1alpha1.Value) string {
	var text string
	switch {
	case value.Label != "":
		text = "label " + value.Label
	case value.Claim != "":
		text = "claim " + value.Claim
	default:
		text = "expression " + value.Expression
	}
	if value.Default != nil {
		text += fmt.Sprintf(", default %q", *value.Default)
	}
	return text
}

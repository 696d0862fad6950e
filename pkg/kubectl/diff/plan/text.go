package plan

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// contextLines is how many unchanged lines a diff shows around changed ones.
const contextLines = 3

// unified returns the unified diff of a change.
func unified(c change) string {
	diff := difflib.UnifiedDiff{A: lines(c.before), B: lines(c.after), FromFile: "now/" + c.name, ToFile: "applied/" + c.name, Context: contextLines}
	if c.before == nil {
		diff.FromFile = "/dev/null"
	}
	if c.after == nil {
		diff.ToFile = "/dev/null"
	}
	if c.set != "" {
		diff.ToDate = "ConfigMapReplicaSet " + c.set
	}
	text, _ := difflib.GetUnifiedDiffString(diff) // a strings.Builder has no errors
	return text
}

// changedLines returns the lines of a diff that are added or removed.
func changedLines(diff string) string {
	var text strings.Builder
	for line := range strings.Lines(diff) {
		if line[0] == '+' || line[0] == '-' {
			text.WriteString(line)
		}
	}
	return text.String()
}

// lines returns the lines of a copy, or none.
func lines(content *render.Content) []string {
	if content == nil {
		return nil
	}
	return slices.Collect(strings.Lines(Text(*content)))
}

// Text returns a copy as YAML. It has nothing that a terminal interprets: a value with characters that cannot be printed is
// quoted. Entries of binaryData are shown as their size and hash.
func Text(content render.Content) string {
	var text strings.Builder
	fmt.Fprintf(&text, "kind: ConfigMap\nmetadata:\n  name: %s\n", scalar(content.Name))
	if content.Immutable {
		text.WriteString("immutable: true\n")
	}
	if len(content.Data) > 0 {
		text.WriteString("data:\n")
	}
	for _, key := range slices.Sorted(maps.Keys(content.Data)) {
		fmt.Fprintf(&text, "  %s: %s\n", scalar(key), scalar(content.Data[key]))
	}
	if len(content.BinaryData) > 0 {
		text.WriteString("binaryData:\n")
	}
	for _, key := range slices.Sorted(maps.Keys(content.BinaryData)) {
		value := content.BinaryData[key]
		fmt.Fprintf(&text, "  %s: %d bytes, sha256 %x\n", scalar(key), len(value), sha256.Sum256(value))
	}
	return text.String()
}

// indent is that of the lines of a value.
const indent = "    "

// scalar returns a text as a YAML scalar.
func scalar(value string) string {
	switch {
	case strings.ContainsFunc(value, func(r rune) bool { return !isPrintable(r) }):
		return quoted(value)
	case strings.Contains(value, "\n"):
		return block(value)
	case isPlain(value):
		return value
	}
	return quoted(value)
}

func isPrintable(r rune) bool {
	return r != utf8.RuneError && unicode.IsPrint(r) || r == '\n' || r == '\t'
}

// isPlain reports whether a text of one line stands for itself in YAML.
func isPlain(value string) bool {
	if value == "" || strings.ContainsAny(value[:1], "-?:,[]{}#&*!|>'\"%@`=~ ") || strings.HasSuffix(value, " ") || strings.HasSuffix(value, ":") ||
		strings.Contains(value, ": ") || strings.Contains(value, " #") || strings.Contains(value, "\t") {
		return false
	}
	var parsed any
	err := yaml.Unmarshal([]byte(value), &parsed)
	return err == nil && parsed == value
}

// block returns a text of several lines as a literal block. https://yaml.org/spec/1.2.2/#812-literal-style
func block(value string) string {
	var text strings.Builder
	text.WriteString("|")
	if strings.ContainsAny(value[:1], " \t\n") {
		text.WriteString("2") // the indentation, which the first line does not show
	}
	body, last := strings.TrimRight(value, "\n"), ""
	switch ends := len(value) - len(body); {
	case ends == 0:
		last = "-"
	case ends > 1 || body == "":
		last = "+"
	}
	text.WriteString(last)
	for line := range strings.SplitSeq(strings.TrimSuffix(value, "\n"), "\n") {
		text.WriteString("\n")
		if line != "" {
			text.WriteString(indent + line)
		}
	}
	return text.String()
}

// quoted returns a text as a double-quoted scalar, with each of its lines on a line of its own.
// https://yaml.org/spec/1.2.2/#731-double-quoted-style
func quoted(value string) string {
	var text strings.Builder
	text.WriteByte('"')
	begins := false // whether this is the first character of a further line
	for i, r := range value {
		if begins = begins && r == ' '; begins {
			text.WriteByte('\\')
		}
		begins = false
		switch {
		case r == '\n' && i == len(value)-1:
			text.WriteString(`\n`)
		case r == '\n':
			text.WriteString("\\n\\\n" + indent)
			begins = true
		case r == '"' || r == '\\':
			text.WriteString(`\` + string(r))
		case r != utf8.RuneError && unicode.IsPrint(r):
			text.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&text, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&text, `\u%04x`, r)
		default:
			fmt.Fprintf(&text, `\U%08x`, r)
		}
	}
	return text.String() + `"`
}

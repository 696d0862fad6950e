package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names are the values of these tests.
var names = []string{"REGION", "EMPTY", "TRICKY", "a b"}

var results = []string{"eu", "", "$(REGION) $$ $", "space"}

func indexOf(name string) (int, bool) {
	i := slices.Index(names, name)
	return i, i >= 0
}

// expandAll parses and expands, and checks the computed size.
func expandAll(t *testing.T, input string) (string, []string) {
	t.Helper()
	parsed, unknown := parse(input, indexOf)
	size := parsed.size(func(i int) int { return len(results[i]) })
	expanded := parsed.expand(results, size)
	if len(expanded) != size {
		t.Errorf("computed %d bytes, expanded %d: %q", size, len(expanded), input)
	}
	return expanded, unknown
}

func TestExpand(t *testing.T) {
	tests := []struct {
		name, reason, input, want string
		unknown                   []string
	}{
		{"empty", "there is nothing to do", "", "", nil},
		{"no reference", "most entries have none", "a: b\n", "a: b\n", nil},
		{"alone", "the whole text", "$(REGION)", "eu", nil},
		{"in between", "text before and after stays", "x-$(REGION)-y", "x-eu-y", nil},
		{"twice", "every reference is expanded", "$(REGION)$(REGION)", "eueu", nil},
		{"empty value", "an empty value is a value", "x$(EMPTY)y", "xy", nil},
		{"not again", "a value is not expanded", "$(TRICKY)", "$(REGION) $$ $", nil},
		{"escaped", "$$ is a $", "$$(REGION)", "$(REGION)", nil},
		{"escaped twice", "each pair is a $", "$$$$(REGION)", "$$(REGION)", nil},
		{"escape and reference", "the pair comes first", "$$$(REGION)", "$eu", nil},
		{"escape without reference", "as Kubernetes does", "a$$b", "a$b", nil},
		{"dollar alone", "a $ before other text stays", "$5 $x ${REGION}", "$5 $x ${REGION}", nil},
		{"dollar at the end", "there is nothing to read", "a$", "a$", nil},
		{"open", "a reference without ) stays", "$(REGION", "$(REGION", nil},
		{"open at the end", "a reference without ) stays", "$(REGION) $(", "eu $(", nil},
		{"open after the last )", "what follows the last ) is text", "$(REGION)$(a$$", "eu$(a$", nil},
		{"any name", "a name is everything up to the )", "$(a b)", "space", nil},
		{"nested", "the first ) ends the name", "$(REGION$(REGION))", ")", []string{"REGION$(REGION"}},
		{"unknown", "each is returned, as often as it stands there", "$(X)$(REGION)$()$(X)", "eu", []string{"X", "", "X"}},
		{"no UTF-8", "bytes stay", "\xff$\xff$(REGION)", "\xff$\xffeu", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, unknown := expandAll(t, test.input)
			if diff := cmp.Diff(test.unknown, unknown); got != test.want || diff != "" {
				t.Errorf("%s: got %q, want %q; unknown: %s", test.reason, got, test.want, diff)
			}
		})
	}
}

// TestParseLong: a text of 1 MiB that only opens references is read once, not once for each.
func TestParseLong(t *testing.T) {
	input := strings.Repeat("$(", MaxContent/2)
	if got, _ := expandAll(t, input); got != input {
		t.Error("the text changed")
	}
}

var syntax = regexp.MustCompile(`\$\$|\$\([^)]*\)`)

// expandByRegexp does the same in other words: a regular expression finds the leftmost of $$ and $(NAME).
func expandByRegexp(input string) (expanded string, unknown []string) {
	expanded = syntax.ReplaceAllStringFunc(input, func(match string) string {
		if match == "$$" {
			return "$"
		}
		i, ok := indexOf(match[2 : len(match)-1])
		if !ok {
			unknown = append(unknown, match[2:len(match)-1])
			return ""
		}
		return results[i]
	})
	return expanded, unknown
}

// FuzzExpand compares with the regular expression, and expands the escaped input to the input.
func FuzzExpand(f *testing.F) {
	for _, input := range []string{"", "$", "$$", "$(", "$()", "$(REGION)", "$$(REGION)", "$(a b)$(EMPTY)$", "$(X$(REGION))$$$(TRICKY)", "\xff$\xff(", "(a)$(b"} {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) {
		got, unknown := expandAll(t, input)
		want, wantUnknown := expandByRegexp(input)
		if diff := cmp.Diff(wantUnknown, unknown); got != want || diff != "" {
			t.Errorf("%q: got %q, want %q; unknown: %s", input, got, want, diff)
		}
		if back, unknown := expandAll(t, strings.ReplaceAll(input, "$", "$$")); back != input || unknown != nil {
			t.Errorf("%q escaped became %q", input, back)
		}
	})
}

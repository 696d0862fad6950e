package render

import "strings"

// text is a value of a source's data, parsed once for all clusters.
type text struct {
	// literal is the value without its references; $$ is a $ already.
	literal string
	// references are in the order of at.
	references []reference
}

// reference is the place of a $(NAME).
type reference struct {
	// at is the offset in literal, value the index of the value that stands there. Both are small:
	// a source of 1 MiB may have 262,144 references.
	at, value int32
}

// parse returns the text of a value, and the names of which index knows no value.
//
// The syntax is that of a pod's arguments
// (https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/#use-environment-variables-to-define-arguments,
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/third_party/forked/golang/expansion/expand.go):
//
//	$(NAME)  the value NAME; a name is everything up to the next )
//	$$       a $, so $$(NAME) is the text $(NAME)
//	$( without ), and a $ before anything else, stand for themselves
//
// What a value holds is not expanded again.
func parse(input string, index func(name string) (int, bool)) (t text, unknown []string) {
	if !strings.Contains(input, "$") {
		return text{literal: input}, nil
	}
	var literal strings.Builder
	lastCloser := strings.LastIndexByte(input, ')')
	for at := 0; ; {
		dollar := strings.IndexByte(input[at:], '$')
		if dollar < 0 {
			literal.WriteString(input[at:])
			t.literal = literal.String()
			return t, unknown
		}
		literal.WriteString(input[at : at+dollar])
		at += dollar + 1
		switch {
		case strings.HasPrefix(input[at:], "$"):
			literal.WriteByte('$')
			at++
		case strings.HasPrefix(input[at:], "(") && at < lastCloser:
			name, _, _ := strings.Cut(input[at+1:], ")")
			if value, ok := index(name); ok {
				t.references = append(t.references, reference{at: int32(literal.Len()), value: int32(value)})
			} else {
				unknown = append(unknown, name)
			}
			at += len("(") + len(name) + len(")")
		default:
			literal.WriteByte('$')
		}
	}
}

// size returns how many bytes the expanded text has. sizeOf returns the size of a value.
func (t text) size(sizeOf func(value int) int) int {
	size := len(t.literal)
	for _, r := range t.references {
		size += sizeOf(int(r.value))
	}
	return size
}

// expand returns the text with values in the places of its references.
func (t text) expand(values []string, size int) string {
	if len(t.references) == 0 {
		return t.literal
	}
	var expanded strings.Builder
	expanded.Grow(size)
	from := 0
	for _, r := range t.references {
		expanded.WriteString(t.literal[from:r.at])
		expanded.WriteString(values[r.value])
		from = int(r.at)
	}
	expanded.WriteString(t.literal[from:])
	return expanded.String()
}

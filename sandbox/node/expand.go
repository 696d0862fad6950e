package node

import "strings"

// expand replaces $(NAME) by the variable's value, by Kubernetes' rules: a
// reference to an unknown variable stays as it is, and $$ is a literal $, so
// that $$(NAME) is the text $(NAME).
func expand(text string, vars map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i+1:]
		switch {
		case text[i] != '$' || rest == "":
			out.WriteByte(text[i])
		case rest[0] == '$':
			out.WriteByte('$')
			i++
		case rest[0] == '(' && strings.IndexByte(rest, ')') > 0:
			name := rest[1:strings.IndexByte(rest, ')')]
			if value, ok := vars[name]; ok {
				out.WriteString(value)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += len(name) + 2
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

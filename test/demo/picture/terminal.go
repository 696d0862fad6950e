package picture

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// columns is the width of the terminal that Terminal draws, and textWidth that of so many characters in pixels.
const columns, textWidth = 124, 974

// escape is a sequence that sets a colour. https://en.wikipedia.org/wiki/ANSI_escape_code#Colors
var escape = regexp.MustCompile("\x1b\\[([0-9]*)m")

// colors are the classes of the colours that the kubectl plugin uses.
var colors = map[string]string{"31": "red", "32": "green", "33": "yellow", "36": "cyan"}

// terminalStyle has the colours of a light and of a dark terminal, as style does.
const terminalStyle = `text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre }
.screen { fill: #f6f8fa; stroke: #d1d9e0 }
.prompt { font-weight: bold }
.red { fill: #b3261e } .green { fill: #1a7f37 } .yellow { fill: #8a5a00 } .cyan { fill: #0550ae }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .screen { fill: #151b23; stroke: #3d444d }
.red { fill: #ff7b72 } .green { fill: #3fb950 } .yellow { fill: #d29922 } .cyan { fill: #79c0ff }
}`

// Terminal draws what was printed on a terminal. Lines that begin with "$ " are commands. Longer lines than the terminal is wide
// are wrapped, where there is a space. Title is for readers who do not see the picture.
func Terminal(title, output string) string {
	var body strings.Builder
	y := top
	for _, line := range strings.Split(strings.TrimRight(strings.ReplaceAll(output, "\r", ""), "\n"), "\n") {
		color := ""
		for i, part := range wrap(line) {
			class := ""
			if i == 0 && strings.HasPrefix(part, "$ ") {
				class = ` class="prompt"`
			}
			fmt.Fprintf(&body, `<text x="%d" y="%d"%s>`, left, y, class)
			color = spans(&body, part, color)
			body.WriteString("</text>\n")
			y += rowHeight
		}
	}
	return frame(title, terminalStyle, 2*left+textWidth, y, body.String())
}

// spans writes a line with its colours. It begins with one, and returns the one in which the line ends.
func spans(body *strings.Builder, line, color string) string {
	write := func(text string) {
		switch {
		case text == "":
		case color == "":
			body.WriteString(html.EscapeString(text))
		default:
			fmt.Fprintf(body, `<tspan class="%s">%s</tspan>`, color, html.EscapeString(text))
		}
	}
	at := 0
	for _, found := range escape.FindAllStringSubmatchIndex(line, -1) {
		write(line[at:found[0]])
		color, at = colors[line[found[2]:found[3]]], found[1]
	}
	write(line[at:])
	return color
}

// wrap returns the lines of a terminal that show one line of output.
func wrap(line string) []string {
	var lines []string
	for utf8.RuneCountInString(escape.ReplaceAllString(line, "")) > columns {
		cut := end(line)
		if space := strings.LastIndexByte(line[:cut], ' '); space > 0 && strings.TrimSpace(line[:space]) != "" {
			cut = space + 1
		}
		lines, line = append(lines, line[:cut]), line[cut:]
	}
	return append(lines, line)
}

// end returns the position in a line behind as many characters as fit.
func end(line string) int {
	escapes := escape.FindAllStringIndex(line, -1)
	shown := 0
	for i := range line {
		if slices.ContainsFunc(escapes, func(e []int) bool { return e[0] <= i && i < e[1] }) {
			continue
		}
		if shown++; shown > columns {
			return i
		}
	}
	return len(line)
}

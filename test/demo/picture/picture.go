// Package picture draws what programs print as an SVG, for the README and the documentation. SVG draws the demo: a terminal in
// which the lines appear one after the other. The last state has all lines, also where nothing moves. Terminal draws what was
// printed on a terminal, with its colours, as it is.
package picture

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Kind is what a line of the demo's output shows.
type Kind string

const (
	// Command is typed by the user.
	Command Kind = "command"
	// Chapter begins a part of the demo.
	Chapter Kind = "chapter"
	// Seen is something that the demo waited for.
	Seen Kind = "seen"
	// Figure is a line of the summary.
	Figure Kind = "figure"
)

// Line is a line of the picture.
type Line struct {
	Kind Kind
	// Time is what the demo measured; empty for a command or a figure.
	Time string
	Text string
}

// maxText is the longest text that fits, in characters; a longer one is cut off.
const maxText = 98

var (
	chapterLine = regexp.MustCompile(`^ *(\d+\.\d+s)  (.+)$`)
	seenLine    = regexp.MustCompile(`^ *(\+\d+\.\d+s)  (.+)$`)
	figureLine  = regexp.MustCompile(`^   (\S.*\S) {2,}(\d\S*(?: ms)?)`)
)

// ErrIncomplete is returned for the output of a run that did not come to its summary.
var ErrIncomplete = errors.New("the output has no summary: the demo did not come to its end")

// Lines returns what a picture of the demo shows of its output: the chapters, what was seen, and the figures. Commands
// with their output and details are left out, and so is the build of the programs (chapter 0).
func Lines(output string) ([]Line, error) {
	lines := []Line{{Kind: Command, Text: "make demo"}}
	summary := false
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		chapter, seen, figure := chapterLine.FindStringSubmatch(line), seenLine.FindStringSubmatch(line), figureLine.FindStringSubmatch(line)
		switch {
		case chapter != nil && strings.HasPrefix(line, "      "), chapter != nil && strings.HasPrefix(chapter[2], "0. "):
			// progress of a command, or the build
		case chapter != nil:
			lines = append(lines, Line{Kind: Chapter, Time: chapter[1], Text: shorten(chapter[2])})
			summary = strings.HasPrefix(chapter[2], "Seen: ")
		case seen != nil:
			lines = append(lines, Line{Kind: Seen, Time: seen[1], Text: shorten(seen[2])})
		case summary && figure != nil && !strings.HasPrefix(figure[1], "$ "):
			lines = append(lines, Line{Kind: Figure, Time: figure[2], Text: shorten(figure[1])})
		}
	}
	if lines[len(lines)-1].Kind != Figure {
		return nil, ErrIncomplete
	}
	return lines, nil
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return text
}

// The picture's measures, in pixels, and its pace, in seconds.
const (
	width, left, top       = 860, 20, 44
	textColumn, rowHeight  = 88, 20
	chapterGap, pace, wait = 8, 0.5, 0.8
)

// style has the colours of a light and of a dark terminal. The background is the picture's own, so that it can be read on
// any page.
const style = `text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
.screen { fill: #f6f8fa; stroke: #d1d9e0 }
.command text, .chapter text { font-weight: bold }
.time { fill: #59636e; text-anchor: end }
.seen .time { fill: #1a7f37 }
.chapter text { fill: #0550ae }
.line { animation: show 0.01s steps(1) backwards }
@keyframes show { from { opacity: 0 } }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .screen { fill: #151b23; stroke: #3d444d } .time { fill: #9198a1 }
.seen .time { fill: #3fb950 } .chapter text { fill: #79c0ff }
}
@media (prefers-reduced-motion: reduce) { .line { animation: none } }`

// SVG draws the lines. Title is for readers who do not see the picture.
func SVG(title string, lines []Line) string {
	var body strings.Builder
	y := top
	for i, line := range lines {
		if line.Kind == Chapter && i > 0 {
			y += chapterGap
		}
		fmt.Fprintf(&body, `<g class="line %s" style="animation-delay: %.1fs">`, line.Kind, wait+pace*float64(i))
		if line.Kind == Command {
			fmt.Fprintf(&body, `<text x="%d" y="%d">$ %s</text>`, left, y, html.EscapeString(line.Text))
		} else {
			fmt.Fprintf(&body, `<text class="time" x="%d" y="%d">%s</text>`, textColumn-2*left/3, y, html.EscapeString(line.Time))
			fmt.Fprintf(&body, `<text x="%d" y="%d">%s</text>`, textColumn, y, html.EscapeString(line.Text))
		}
		body.WriteString("</g>\n")
		y += rowHeight
	}
	return frame(title, style, width, y, body.String())
}

// frame draws a terminal's window around the body.
func frame(title, style string, width, height int, body string) string {
	var picture strings.Builder
	fmt.Fprintf(&picture, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">`,
		width, height, width, height)
	fmt.Fprintf(&picture, "\n<title id=\"title\">%s</title>\n<style>\n%s\n</style>\n", html.EscapeString(title), style)
	fmt.Fprintf(&picture, "<rect class=\"screen\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&picture, "<circle cx=\"%d\" cy=\"16\" r=\"5\" fill=\"%s\"/>\n", left+16*i, colour)
	}
	picture.WriteString(body)
	picture.WriteString("</svg>\n")
	return picture.String()
}

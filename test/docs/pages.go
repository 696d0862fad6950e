// Package docs checks the project's documentation: that every relative link leads to a file, and every anchor to a
// heading. It reads Markdown as GitHub renders it, as far as links and anchors go, and no other Markdown.
package docs

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

var (
	link         = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	heading      = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	explicit     = regexp.MustCompile(`<a id="([^"]+)">`)
	inlineCode   = regexp.MustCompile("`[^`]*`")
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	codeFence    = regexp.MustCompile("^\\s*(```|~~~)")
	citationOf   = regexp.MustCompile(`\b(docs/[\w-]+\.md)(?:#([\w-]+))?`)
	address      = regexp.MustCompile(`https?://\S+`)
	isElsewhere  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
	inlineMarkup = strings.NewReplacer("`", "", "*", "")
)

// prose returns the lines of a page outside of its code blocks.
func prose(page string) []string {
	var lines []string
	inCode := false
	for line := range strings.Lines(page) {
		if codeFence.MatchString(line) {
			inCode = !inCode
			continue
		}
		if !inCode {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

// links returns the targets of a page's relative links, also those that are broken over two lines.
func links(page string) []string {
	text := inlineCode.ReplaceAllString(strings.Join(prose(page), "\n"), "")
	var targets []string
	for _, match := range link.FindAllStringSubmatch(text, -1) {
		if !isElsewhere.MatchString(match[1]) {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// anchors returns the fragments that lead into a page: its headings' and its explicit ones. The second heading of a
// text has the suffix -1, the third -2.
func anchors(page string) map[string]bool {
	found, times := map[string]bool{}, map[string]int{}
	for _, line := range prose(page) {
		for _, match := range explicit.FindAllStringSubmatch(line, -1) {
			found[match[1]] = true
		}
		match := heading.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		anchor := slug(match[1])
		if n := times[anchor]; n > 0 {
			found[fmt.Sprintf("%s-%d", anchor, n)] = true
		}
		found[anchor] = true
		times[anchor]++
	}
	return found
}

// slug returns the anchor that GitHub gives a heading: lower case, spaces as hyphens, without punctuation. For example,
// "Rule 5: prune" becomes rule-5-prune.
func slug(heading string) string {
	text := inlineMarkup.Replace(linkText.ReplaceAllString(heading, "$1"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, text)
}

// citation is a page of documentation that a file names, for example docs/design.md#rule-5-prune.
type citation struct {
	path, anchor string
}

// citations returns the pages that a source file names.
func citations(source string) []citation {
	var cited []citation
	for _, match := range citationOf.FindAllStringSubmatch(address.ReplaceAllString(source, ""), -1) {
		cited = append(cited, citation{path: match[1], anchor: match[2]})
	}
	return cited
}

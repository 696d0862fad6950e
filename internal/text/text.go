// Package text bounds what messages tell: how long they are, and how many names they have.
package text

import (
	"fmt"
	"strings"
)

// Shorten cuts a message to most bytes, between two characters, and ends what it cut with " …".
func Shorten(message string, most int) string {
	const more = " …"
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most-len(more)], "") + more
}

// List returns the first names in their order, and how many there are beyond most: "a, b and 4990 more".
func List(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

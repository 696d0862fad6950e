// Package shell quotes the commands that the plugin prints for a person to copy: names in them come from clusters.
package shell

import (
	"regexp"
	"strings"
)

// plain is what no shell interprets.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// Quote returns the arguments as a POSIX shell reads them, with a space between two. For example, `get "a b"` is get 'a b'.
// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_02
func Quote(arguments ...string) string {
	quoted := make([]string, len(arguments))
	for i, argument := range arguments {
		quoted[i] = argument
		if !plain.MatchString(argument) {
			quoted[i] = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

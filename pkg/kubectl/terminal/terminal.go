// Package terminal has what the plugin's commands have in common on a terminal: exit codes, colours, and text
// that cannot control it.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit codes, as those of kubectl diff.
const (
	exitAnswered   = 1
	exitUnanswered = 2
)

// Answers that are no success. What they are about was printed before.
var (
	// ErrNotWell reports that an add-on is not well.
	ErrNotWell = errors.New("an enabled add-on is not well")
	// ErrDiffers reports that applying a file would change something.
	ErrDiffers = errors.New("applying the files would change something")
)

// isAnswer reports whether an error is one of those answers.
func isAnswer(err error) bool { return errors.Is(err, ErrNotWell) || errors.Is(err, ErrDiffers) }

// unanswered is an error because of which an answer is missing or incomplete.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

// Unanswered returns the error with which a command ends: ErrNotWell, ErrDiffers and nil as they are, and every other error as
// one because of which the question has no answer.
func Unanswered(err error) error {
	if err == nil || isAnswer(err) {
		return err
	}
	return unanswered{err}
}

// UnansweredFlags makes wrong flags of a command such an error.
func UnansweredFlags(command *cobra.Command) {
	command.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return unanswered{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
}

// ExitCode returns the program's exit code for an error, and whether the error is to be printed.
func ExitCode(err error) (code int, printed bool) {
	switch {
	case err == nil:
		return 0, false
	case isAnswer(err):
		return exitAnswered, false
	case errors.As(err, &unanswered{}):
		return exitUnanswered, true
	default:
		return 1, true
	}
}

// AddOutput adds the flag --output with its completion. byDefault names the format without the flag, for example "a table".
func AddOutput(command *cobra.Command, value *string, byDefault string, formats []string) {
	command.Flags().StringVarP(value, "output", "o", "", "format: "+strings.Join(formats, ", ")+"; "+byDefault+" by default")
	// Only a flag that does not exist fails here.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// CheckOutput returns an error unless the value of --output is empty or one of the formats.
func CheckOutput(value, byDefault string, formats []string) error {
	if value == "" || slices.Contains(formats, value) {
		return nil
	}
	return fmt.Errorf("--output=%s: use one of %s, or none for %s", value, strings.Join(formats, ", "), byDefault)
}

// HasColors reports whether out is a terminal that shows colours. https://no-color.org
func HasColors(out io.Writer, lookup func(string) (string, bool)) bool {
	if value, _ := lookup("NO_COLOR"); value != "" {
		return false
	}
	if value, _ := lookup("TERM"); value == "dumb" {
		return false
	}
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Printable returns text on one line, without characters that control a terminal: messages come from clusters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

package terminal

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestHasColors: a file is no terminal. A terminal is in no unit test: /dev/ptmx stands in for one.
func TestHasColors(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name, reason string
		file         *os.File
		variables    map[string]string
		want         bool
	}{
		{"terminal", "", screen, nil, true},
		{"NO_COLOR", "https://no-color.org", screen, map[string]string{"NO_COLOR": "1"}, false},
		{"NO_COLOR is empty", "https://no-color.org: only when it is not empty", screen, map[string]string{"NO_COLOR": ""}, true},
		{"dumb", "it shows none", screen, map[string]string{"TERM": "dumb"}, false},
		{"file", "", file, nil, false},
	} {
		lookup := func(name string) (string, bool) {
			value, ok := c.variables[name]
			return value, ok
		}
		if got := HasColors(c.file, lookup); got != c.want {
			t.Errorf("%s: got %t, want %t: %s", c.name, got, c.want, c.reason)
		}
	}
	if HasColors(&bytes.Buffer{}, func(string) (string, bool) { return "", false }) {
		t.Error("a buffer has colours")
	}
}

func TestExitCode(t *testing.T) {
	other := errors.New("any")
	for _, c := range []struct {
		name    string
		err     error
		code    int
		printed bool
	}{
		{"none", nil, 0, false},
		{"not well", ErrNotWell, 1, false},
		{"not well, from a command that answers", Unanswered(ErrNotWell), 1, false},
		{"a difference, from a command that answers", Unanswered(ErrDiffers), 1, false},
		{"no answer", Unanswered(other), 2, true},
		{"no error of a command that answers", Unanswered(nil), 0, false},
		{"of another command", other, 1, true},
	} {
		if code, printed := ExitCode(c.err); code != c.code || printed != c.printed {
			t.Errorf("%s: got exit code %d, printed %t; want %d, %t", c.name, code, printed, c.code, c.printed)
		}
	}
}

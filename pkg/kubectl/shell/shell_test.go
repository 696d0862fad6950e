package shell

import (
	"os/exec"
	"testing"
)

// TestQuote asks a real shell.
func TestQuote(t *testing.T) {
	for _, argument := range []string{"", "plain-1.2/3:4=5", "two words", "$(touch x)", "it's", `a"b\c`, "a;b|c&d\n#e", "*", "~", "{a,b}", "日本"} {
		command := "printf %s " + Quote(argument)
		if out, err := exec.Command("sh", "-c", command).Output(); err != nil || string(out) != argument {
			t.Errorf("%q became %s, which is %q: %v", argument, command, out, err)
		}
	}
	if got, want := Quote("get", "a b", "-n", "c"), "get 'a b' -n c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

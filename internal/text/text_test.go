package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"open-cluster-management.io/helloworld-addon/internal/text"
)

func TestShorten(t *testing.T) {
	for name, message := range map[string]string{
		"short": strings.Repeat("x", 256), "long": strings.Repeat("x", 257), "within a character": "x" + strings.Repeat("é", 200),
	} {
		got := text.Shorten(message, 256)
		if len(got) > 256 || !utf8.ValidString(got) || len(message) <= 256 && got != message || len(message) > 256 && !strings.HasSuffix(got, " …") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestList(t *testing.T) {
	for want, names := range map[string][]string{
		"": nil, "b": {"b"}, "b, a": {"b", "a"}, "b, a and 1 more": {"b", "a", "c"}, "b, a and 2 more": {"b", "a", "c", "d"},
	} {
		if got := text.List(names, 2); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}

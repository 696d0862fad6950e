package diagnosis

import "testing"

func TestLeaseTrouble(t *testing.T) {
	for _, test := range []struct{ name, log, want string }{
		{"text", "I1 renewer.go:150] \"Renewing lease\" period=\"1m0s\"\nE1 renewer.go:143] \"Failed to renew lease, retrying\" err=\"update lease: \\\"a\\\" denied\" lease=\"b/c\"\n", `update lease: "a" denied`},
		{"the last counts", "I1 x] \"Paused lease renewal\" lease=\"b/c\" reason=\"first\"\nI1 x] \"Paused lease renewal\" lease=\"b/c\" reason=\"second\"\n", "second"},
		{"json", `{"ts":1,"msg":"Failed to renew lease, retrying","lease":{"name":"c"},"err":"update lease: denied"}` + "\n", "update lease: denied"},
		{"one line", "E1 x] \"Failed to renew lease, retrying\" err=\"a\\nb\"\n", "a b"},
		{"another message", "E1 x] \"Cannot copy\" err=\"denied\"\n", ""},
		{"none", "", ""},
	} {
		if got := leaseTrouble(test.log); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

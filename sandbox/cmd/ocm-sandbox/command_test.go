package main

import "testing"

func TestDirIsThatOfTheEnvironment(t *testing.T) {
	for _, test := range []struct{ name, environment, want string }{
		{"nothing is set", "", ".sandbox"},
		{"SANDBOX_DIR is", "/tmp/elsewhere", "/tmp/elsewhere"},
	} {
		t.Setenv("SANDBOX_DIR", test.environment)
		if got := command().PersistentFlags().Lookup("dir").DefValue; got != test.want {
			t.Errorf("%s: --dir is %q by default, want %q", test.name, got, test.want)
		}
	}
}

package loglevel

import (
	"testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

func TestCap(t *testing.T) {
	tests := []struct {
		name, asked, want string
		lowered           bool
	}{
		{"none", "0", "0", false},
		{"the highest that is safe", "7", "7", false},
		{"one that logs bodies", "8", "7", true},
		{"far above", "99", "7", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			output := runtest.ProcessLogs(t)
			if err := Flag().Value.Set(test.asked); err != nil {
				t.Fatal(err)
			}
			if err := Cap(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := Flag().Value.String(); got != test.want {
				t.Errorf("the level is %s, want %s", got, test.want)
			}
			if got := output.Contain("Lowered the log level"); got != test.lowered {
				t.Errorf("logged that it was lowered: %t", got)
			}
		})
	}
}

package controlplane

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAudit checks that a cluster writes an audit log only when that is asked for, since the log
// costs time and space.
func TestAudit(t *testing.T) {
	for _, audit := range []bool{false, true} {
		c, err := New(Options{Name: "hub", Dir: t.TempDir(), Address: Address(0).String(), Audit: audit})
		if err != nil {
			t.Fatal(err)
		}
		args := c.apiServer().Args
		if got := slices.Contains(args, "--audit-log-path="+AuditLog(c.Dir)); got != audit {
			t.Errorf("audit %t: the API server has the flag: %t", audit, got)
		}
		policy := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--audit-policy-file=") })
		if !audit {
			if policy >= 0 {
				t.Error("the API server has a policy without an audit log")
			}
			continue
		}
		if _, err := os.Stat(strings.TrimPrefix(args[policy], "--audit-policy-file=")); err != nil {
			t.Error(err)
		}
	}
}

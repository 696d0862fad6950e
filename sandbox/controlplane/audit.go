package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy makes the API server write a line for each request, without its body. The API
// server's own requests are left out. See
// https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [system:apiserver]
- level: Metadata
`

// AuditLog returns the file of the audit log of the cluster in dir.
func AuditLog(dir string) string { return filepath.Join(dir, "logs", "audit.log") }

// auditFlags returns the API server's flags for the audit log; none if it is off.
func (c *Cluster) auditFlags() []string {
	if !c.Audit {
		return nil
	}
	return []string{"--audit-policy-file=" + c.auditPolicyFile(), "--audit-log-path=" + AuditLog(c.Dir)}
}

func (c *Cluster) auditPolicyFile() string { return filepath.Join(c.Dir, "audit-policy.yaml") }

func (c *Cluster) writeAuditPolicy() error {
	if !c.Audit {
		return nil
	}
	if err := os.WriteFile(c.auditPolicyFile(), []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy of %s: %w", c.Name, err)
	}
	return nil
}

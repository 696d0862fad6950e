// Package monitoring tests deploy/monitoring with promtool and a real Prometheus: each alert fires when it should and not
// before, has a section in docs/runbooks.md, and asks for metrics that the programs have.
//
// It knows the programs only by what they serve on /metrics.
package monitoring

// Package integration tests the sandbox through its command, with real control planes and OCM. Its
// tests have the build tag sandbox, because they need the built programs, which make test-sandbox
// builds.
package integration

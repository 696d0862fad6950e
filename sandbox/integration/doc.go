// Package integration tests the sandbox as its users have it: through its
// command, with real control planes and OCM. Its tests are behind the build tag
// sandbox, because they need the built programs: make test-sandbox builds them.
package integration

package main

import (
	"testing"

	"open-cluster-management.io/helloworld-addon/internal/testing/runtest"
)

// TestTrustsPublicAuthorities: a hub whose kubeconfig has no CA bundle is verified
// with the roots that are built into the program.
func TestTrustsPublicAuthorities(t *testing.T) { runtest.TrustsPublicRoots(t) }

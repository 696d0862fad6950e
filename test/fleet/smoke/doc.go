// Package smoke tests the add-on on a small fleet of simulated managed clusters, in a sandbox of
// its own: make test-fleet.
package smoke

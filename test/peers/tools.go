//go:build tools

package peers

// The imports keep the modules whose programs and suites are built from their own sources, and hashes of these, in go.mod and
// go.sum: `make check` and dependency updates know them there. The packages are small ones of each module.
import (
	_ "open-cluster-management.io/addon-framework/pkg/version"
	_ "open-cluster-management.io/cluster-proxy/pkg/common"
	_ "open-cluster-management.io/managed-serviceaccount/pkg/common"
)

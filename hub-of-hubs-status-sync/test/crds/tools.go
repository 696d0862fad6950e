//go:build tools

// Package crds pins the modules whose custom resource definitions the hub of
// hubs' tests and demonstration install. It is a module of its own, because
// nothing is compiled of them, and no other module gets their dependencies.
package crds

import (
	_ "open-cluster-management.io/api/cluster/v1beta1"
	_ "open-cluster-management.io/governance-policy-propagator/api/v1"
	_ "open-cluster-management.io/multicloud-operators-subscription/pkg/apis/apps/v1"
)

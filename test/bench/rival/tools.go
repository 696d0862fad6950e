//go:build tools

// Package rival pins addon-framework's own helloworld example, which the
// benchmark measures beside the add-on. It holds no code: importing the command
// here keeps its modules and their hashes in go.mod and go.sum. The Kubernetes
// libraries are the add-on's, so that neither side has newer ones.
package rival

import _ "open-cluster-management.io/addon-framework/cmd/example/helloworld"

// Package controllergen pins the version of controller-gen, which `make generate` runs. It is a
// module of its own, so that no other module gets its dependencies.
package controllergen

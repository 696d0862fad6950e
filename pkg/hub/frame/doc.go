// Package frame is what the programs on a hub have in common: options, the connection to a hub
// that may still be starting, a secure server for health and metrics, and leader election.
//
// It uses k8s.io/apiserver and client-go, as Kubernetes' own controllers do. library-go's
// controllercmd offers the same, but it exits the process itself, when its server fails and
// when the leadership is lost, and it serves profiles.
// https://github.com/openshift/library-go/tree/14a789e09884/pkg/controller/controllercmd
//
// It knows nothing of the work that a program does.
package frame

// Package judge compares pkg/kubectl/doctor/registration with OCM's own code. Its tests
// generate thousands of cases with a fixed seed, write the Secrets to files as the
// registration agent does, and ask OCM v1.2.1 what it makes of them: whether the hub
// kubeconfig is valid, whether the agent exits, whether it requests a certificate, and,
// with several hubs, which bootstrap kubeconfig it chooses.
//
// It is a Go module of its own, because OCM v1.2.1 needs other versions of Kubernetes'
// modules than the add-on. It has those of sandbox/programs, so that both share what is
// compiled.
package judge

// Package subject installs what is measured into a fresh sandbox: the floor, the
// add-on, or the rival. However different they are, each has one agent on the
// managed cluster, a Deployment of the same name in the same namespace, whose
// copies are in that namespace.
package subject

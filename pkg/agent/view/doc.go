// Package view is the agent's cache of what is in one namespace of an API
// server: client-go's informer, which keeps of each object only what its user
// needs, and a memory of whether the API server can be read.
//
// A view never loses what it knows because of a failure: it is replaced by a
// complete list only. It does not say what changed, only what may have.
package view

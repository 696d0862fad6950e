// Package chart holds the test that the add-on's Helm chart and its kustomize
// base install the same objects. It has no code of its own.
package chart

// Package chart holds the tests of what the project deploys: its Helm chart and
// its kustomize base install the same objects, and every pod passes OpenShift's
// restricted-v2 and the Pod Security level restricted.
package chart

// Package demo shows the add-on's main job: it starts a sandbox, deploys the
// add-on, enables it, writes, changes and deletes a ConfigMap on the hub, writes
// one to all clusters with a ConfigMapReplicaSet, and reports each effect as it
// happens, with the time and with the command that shows it.
//
// It uses only what a user has: the sandbox's command, the deploy script and the
// clusters' kubeconfigs. It fails if an effect does not happen.
package demo

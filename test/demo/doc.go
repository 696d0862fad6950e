// Package demo runs the add-on's main job before a person's eyes: it starts a
// sandbox, deploys the add-on, enables it, writes, changes and deletes a
// ConfigMap on the hub, and tells what happens as it happens, with times and
// with the commands to look oneself.
//
// It only uses what a user has: the sandbox's command, the deploy script and
// the clusters' kubeconfigs. It tests nothing; it fails when something that
// should be seen is not.
package demo

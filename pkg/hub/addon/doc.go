// Package addon implements the hub side of the add-on for addon-framework: which
// objects run the agent on a managed cluster, how the agent registers with the hub,
// which certificate signing requests are approved, and what the agent may do on the
// hub. See docs/design.md.
//
// The decisions are pure functions in two packages: install (which config, where, and
// which objects) and identity (user, requests, rights). This package reads the hub's
// objects, calls them, and writes the agents' RoleBindings.
//
// It runs no controller: addon-framework calls AgentAddon from its own. It writes
// nothing on managed clusters, because OCM's work agent does, and it copies no
// ConfigMap, because the agent does.
package addon

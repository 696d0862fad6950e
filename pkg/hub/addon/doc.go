// Package addon is the hub side of the add-on as addon-framework sees it: which
// objects run the agent on a managed cluster, how the agent registers with the
// hub, which certificate requests are approved, and what the agent may do on
// the hub.
//
// Decisions are pure functions: what is installed where (values.go, render.go),
// which request is approved (csr.go), which rights the agent gets (hubrbac.go).
// agent.go, registration.go and permission.go read, call them and carry out.
//
// It runs no controller of its own (addon-framework's do), it writes nothing on
// managed clusters itself (OCM's work agent does), and it does not copy
// ConfigMaps (the agent does).
package addon

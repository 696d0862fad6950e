// Package agent is the program that runs for each managed cluster. It mirrors the
// cluster's ConfigMaps from the hub and renews the add-on's lease. It needs rights in
// the install namespace only.
//
// This package parses the flags and connects the packages beside it. One ConfigMap
// takes this way:
//
//	hubclient               waits for the hub's credentials, checks them, connects,
//	                        and calls agent.serve (session.go) with the connection
//	kubeclient              clients of both API servers, for the few kinds in use
//	view                    watches and caches one namespace; keeps its content when
//	                        a list or watch fails
//	mirror, mirror/plan     compare source and copy, decide, write the copy
//	uninstall/gate          lets the mirror write, or stops it while the add-on is
//	                        being deleted
//
// and its state this way back:
//
//	mirror/plan.Summary     counts and names of what is and is not in sync
//	report/condition        the condition ConfigMapsSynced for it
//	report                  writes the condition, and Events for a person
//	metrics, httpserver     /metrics, /healthz and /readyz
//	lease, lease/plan       renew the lease while /readyz succeeds
//
// In parallel, announce.go reports the state of the connection to the hub in the log
// and in Events on the agent's own pod, for the time when the hub cannot be reached.
//
// The command "uninstall" (uninstall.go) is the pre-delete hook; package uninstall
// removes the copies. Package sidecar is another program: the lease sidecar.
package agent

// Package controller is the program helloworld-controller: its options, its
// command line, and the frame in which addon-framework's AddonManager runs the
// add-on on a hub (a check of the hub, a secure server for health and metrics,
// leader election).
//
// The frame is put together from k8s.io/apiserver and client-go, as in
// Kubernetes' own controllers. library-go's controllercmd would give the same,
// but it ends the process from inside (when its server fails, and when the
// leadership is lost), and it serves profiles.
//
// The framework runs on informers and a client for works that protect it from a
// watch that was interrupted, as all watches of the add-on API are when its
// conversion webhook is away: see lastKnown and ownedWorks.
//
// It decides nothing about the add-on; package addon does.
package controller

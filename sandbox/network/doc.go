// Package network gives each pod a network namespace of its own, on a bridge
// that stands for the node.
//
// As on a real node, a pod has its own loopback (so that two pods can listen on
// the same port), an eth0 with an address that every other pod and the node
// reach, and a default route via the bridge. The network lives in the calling
// process's network namespace and ends with it: it has no names in /run/netns, and a
// process that dies leaves nothing behind.
//
// The caller needs CAP_NET_ADMIN and CAP_SYS_ADMIN over its network namespace.
// The caller should have a namespace of its own, because the package creates and
// enables interfaces in it.
//
// A namespace can own a prefix of addresses, to which the bridge's later namespaces have a
// route. Package services listens there for a cluster's Services.
//
// There is no IPv6 and no network policy, and no route out of the caller's namespace.
package network

// Package network gives each pod a network namespace of its own, on a bridge
// that stands for the node.
//
// As on a real node, a pod has its own loopback (so that two pods can listen on
// the same port), an eth0 with an address that every other pod and the node
// reach, and a default route by the bridge. All of it lives in the network
// namespace in which the calling process runs, and goes with it: nothing is
// named in /run/netns, and a process that dies leaves nothing behind.
//
// The caller needs CAP_NET_ADMIN and CAP_SYS_ADMIN over its network namespace.
// A namespace of its own is expected: the package switches interfaces of the
// caller's namespace on, and names them as it likes.
//
// It does no IPv6, no DNS, no service addresses and no network policy, and it
// gives no way out of the caller's namespace.
package network

package flows

// Names of kinds that are treated apart.
const (
	// Leases are the renewals of leases, by which a program shows that it lives.
	Leases = "leases"
	// Watches are the starts of watches.
	Watches = "watch"
	// Lists are lists of any resource.
	Lists = "list"
)

// Upkeep are the kinds of requests that a program makes however many clusters there are: leases,
// watches that the API server has ended after some minutes, and the reviews of who may read its
// metrics.
var Upkeep = []string{Leases, Watches, "authentication.k8s.io", "authorization.k8s.io"}

const (
	addonGroup = "addon.open-cluster-management.io"
	workGroup  = "work.open-cluster-management.io"
	ownGroup   = "helloworld.open-cluster-management.io"
)

// Controller are the kinds of requests of an add-on's hub controller.
var Controller = []Kind{
	{"*", "coordination.k8s.io", "leases"},
	{"watch", "*", "*"},
	{"list", "*", "*"},
	{"get", addonGroup, "managedclusteraddons"},
	{"update", addonGroup, "managedclusteraddons"},
	{"patch", addonGroup, "managedclusteraddons"},
	{"patch", addonGroup, "managedclusteraddons/status"},
	{"*", addonGroup, "clustermanagementaddons"},
	{"get", workGroup, "manifestworks"},
	{"create", workGroup, "manifestworks"},
	{"patch", workGroup, "manifestworks"},
	{"update", workGroup, "manifestworks"},
	{"create", ownGroup, "configmapmirrors"},
	{"*", "rbac.authorization.k8s.io", "*"},
	{"*", "authentication.k8s.io", "*"},
	{"*", "authorization.k8s.io", "*"},
	{"*", "*", "events"},
	{"update", "certificates.k8s.io", "certificatesigningrequests/approval"},
	{"delete", "certificates.k8s.io", "certificatesigningrequests"},
	{"*", "*", "*"},
}

// Agents are the kinds of requests of agents.
var Agents = []Kind{
	{"*", "coordination.k8s.io", "leases"},
	{"watch", "*", "*"},
	{"list", "*", "*"},
	{"*", ownGroup, "configmapmirrors"},
	{"patch", ownGroup, "configmapmirrors/status"},
	{"*", "*", "events"},
	{"*", "*", "*"},
}

// ReplicaSets are the kinds of requests of the controller of ConfigMapReplicaSets.
var ReplicaSets = []Kind{
	{"*", "coordination.k8s.io", "leases"},
	{"watch", "*", "*"},
	{"list", "*", "*"},
	{"get", "", "configmaps"},
	{"create", "", "configmaps"},
	{"patch", "", "configmaps"},
	{"delete", "", "configmaps"},
	{"*", "apps", "controllerrevisions"},
	{"patch", ownGroup, "configmapreplicasets"},
	{"update", ownGroup, "configmapreplicasets/status"},
	{"*", "authentication.k8s.io", "*"},
	{"*", "authorization.k8s.io", "*"},
	{"*", "*", "events"},
	{"*", "*", "*"},
}

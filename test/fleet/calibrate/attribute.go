package calibrate

import (
	"strconv"
	"strings"
)

// Clusters are the managed clusters of a hub, by kind.
type Clusters struct{ Real, Simulated []string }

// The subjects: who asks because of a cluster.
const (
	joining      = "registration agent, joining"
	klusterlet   = "registration and work agent"
	registration = "registration manager"
	addOnAgent   = "add-on's agent"
)

// Users of OCM.
const (
	bootstrapUser = "bootstrap-user"
	agentPrefix   = "system:open-cluster-management:"
	addOnPrefix   = agentPrefix + "cluster:"
	accountPrefix = "system:serviceaccount:"
)

// managers are the hub's programs by the ServiceAccount that they run as.
var managers = map[string]string{
	"open-cluster-management-hub:registration-controller-sa":  registration,
	"open-cluster-management-hub:placement-controller-sa":     "placement manager",
	"open-cluster-management-hub:addon-manager-controller-sa": "add-on manager",
	"open-cluster-management:helloworld-controller":           "add-on's controller",
	"kube-system:certificate-controller":                      "kube-controller-manager, certificates",
}

// simulator is the program of OCM's agents of simulated clusters.
const simulator = "ocm-fleet/"

// attribution is whose request it is, and because of which kind of cluster.
type attribution struct {
	subject   string
	simulated bool
}

// attribute returns whose request it is. It reports whether the request belongs to a
// cluster.
func (c Clusters) attribute(r Request) (attribution, bool) {
	if r.User == bootstrapUser {
		// a request for a certificate has no name yet
		return attribution{joining, strings.HasPrefix(r.Program, simulator)}, true
	}
	if rest, ok := strings.CutPrefix(r.User, addOnPrefix); ok {
		name, _, _ := strings.Cut(rest, ":")
		return c.of(addOnAgent, name)
	}
	if rest, ok := strings.CutPrefix(r.User, agentPrefix); ok {
		name, _, _ := strings.Cut(rest, ":")
		return c.of(klusterlet, name)
	}
	account, ok := strings.CutPrefix(r.User, accountPrefix)
	if !ok {
		return attribution{}, false
	}
	namespace, name, _ := strings.Cut(account, ":")
	if found, ok := c.of(addOnAgent, namespace); ok && strings.HasSuffix(name, "-agent") {
		// with the token driver
		return found, true
	}
	if subject, ok := managers[account]; ok {
		return c.about(subject, r)
	}
	return attribution{}, false
}

// of returns the attribution to the cluster with the name.
func (c Clusters) of(subject, name string) (attribution, bool) {
	for _, cluster := range c.Real {
		if cluster == name {
			return attribution{subject, false}, true
		}
	}
	for _, cluster := range c.Simulated {
		if cluster == name {
			return attribution{subject, true}, true
		}
	}
	return attribution{}, false
}

// about returns the attribution to the cluster whose object the request is for.
func (c Clusters) about(subject string, r Request) (attribution, bool) {
	for _, cluster := range c.Real {
		if r.Namespace == cluster || mentions(r.Name, cluster) {
			return attribution{subject, false}, true
		}
	}
	for _, cluster := range c.Simulated {
		if r.Namespace == cluster || mentions(r.Name, cluster) {
			return attribution{subject, true}, true
		}
	}
	return attribution{}, false
}

// mentions reports whether an object's name has the cluster's name as a whole. For example,
// open-cluster-management:managedcluster:cluster10 does not mention cluster1.
func mentions(name, cluster string) bool {
	for rest := name; ; {
		i := strings.Index(rest, cluster)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(cluster):]
		if (before == "" || !isWord(before[len(before)-1])) && (after == "" || !isWord(after[0])) {
			return true
		}
		rest = rest[i+1:]
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// what is the kind of a request as a table shows it, for example "patch
// managedclusteraddons/status, 409". Only errors show a code.
func (r Request) what() string {
	what := r.Verb + " " + r.Resource
	if r.Resource == "" {
		what = r.Verb + " (no resource)"
	}
	if r.Code >= 400 {
		what += ", " + strconv.Itoa(r.Code)
	}
	return what
}

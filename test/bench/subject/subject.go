package subject

import (
	"context"
	"fmt"
	"os"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/requests"
	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
)

// What all subjects have in common.
const (
	// Namespace is the install namespace, OCM's default.
	Namespace = "open-cluster-management-agent-addon"
	// Deployment and account are those of the agent on the managed cluster.
	Deployment = "helloworld-agent"
	account    = "helloworld-agent-sa"
)

const (
	hubNamespace = "open-cluster-management"
	// agents is the group of a cluster's agents of the add-on, by OCM's rules.
	agents = "system:open-cluster-management:cluster:" + sandbox.Cluster + ":addon:helloworld"
)

// Subject is what can be measured.
type Subject struct {
	Name string
	// Image is the mapping IMAGE=DIRECTORY that its pods need.
	Image string
	// Binary is the agent's program as a file, Process how it is called.
	Binary  string
	Process procfs.Program
	// HubUsers are whom the agent is on the hub, ControllerUsers whom the
	// controller is, when there is one.
	HubUsers, ControllerUsers []flowcontrolv1.Subject
	// Install returns when everything has been asked for; whether it came about
	// shows in the first copy.
	Install func(context.Context, *sandbox.Sandbox) error
}

// ManagedUsers are whom the agent is on the managed cluster.
func (*Subject) ManagedUsers() []flowcontrolv1.Subject {
	return []flowcontrolv1.Subject{requests.ServiceAccount(Namespace, account)}
}

// BinarySize is that of the agent's program in bytes.
func (s *Subject) BinarySize() (int64, error) {
	info, err := os.Stat(s.Binary)
	if err != nil {
		return 0, fmt.Errorf("the agent's program of %s is not there (make bench builds it): %w", s.Name, err)
	}
	return info.Size(), nil
}

// enable is the add-on for the managed cluster.
const enable = `
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: helloworld, namespace: ` + sandbox.Cluster + `}
spec: {installNamespace: ` + Namespace + `}
`

package subject

import (
	"context"
	"fmt"
	"path/filepath"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/requests"
	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
)

// rivalImage is the one that its own manifests name.
const rivalImage = "quay.io/open-cluster-management/addon-examples"

// rivalManaged is what its manifests take for granted: OCM's operator makes it.
const rivalManaged = "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + Namespace + "}\n"

// Rival is addon-framework's own helloworld example: root holds the program as
// its image does, deploy is examples/deploy/addon/helloworld of its module.
func Rival(root, deploy string) *Subject {
	return &Subject{
		Name:            report.Rival,
		Image:           rivalImage + "=" + root,
		Binary:          filepath.Join(root, "helloworld"),
		Process:         procfs.Program{Name: "helloworld", Args: []string{"agent"}},
		HubUsers:        []flowcontrolv1.Subject{requests.Group(agents)},
		ControllerUsers: []flowcontrolv1.Subject{requests.ServiceAccount(hubNamespace, "helloworld-addon-sa")},
		Install: func(ctx context.Context, s *sandbox.Sandbox) error {
			if err := s.Apply(ctx, sandbox.Cluster, []byte(rivalManaged)); err != nil {
				return err
			}
			documents, err := s.Output(ctx, s.Kubectl, "kustomize", deploy)
			if err != nil {
				return fmt.Errorf("render the rival's manifests: %w", err)
			}
			if err := s.Apply(ctx, "hub", documents); err != nil {
				return fmt.Errorf("deploy the rival: %w", err)
			}
			return nil // its placement enables it on every cluster
		},
	}
}

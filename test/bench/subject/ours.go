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

// Ours is the add-on, deployed as users deploy it: root is laid out like its
// image, deploy the directory with its manifests.
func Ours(image, root, deploy string) *Subject {
	return &Subject{
		Name:            report.Ours,
		Image:           image + "=" + root,
		Binary:          filepath.Join(root, "usr/local/bin/helloworld-agent"),
		Process:         procfs.Program{Name: "helloworld-agent"},
		HubUsers:        []flowcontrolv1.Subject{requests.Group(agents)},
		ControllerUsers: []flowcontrolv1.Subject{requests.ServiceAccount(hubNamespace, "helloworld-controller")},
		Install: func(ctx context.Context, s *sandbox.Sandbox) error {
			if err := s.Run(ctx, nil, filepath.Join(deploy, "apply"), s.Kubectl, image); err != nil {
				return fmt.Errorf("deploy the add-on: %w", err)
			}
			return s.Apply(ctx, "hub", []byte(enable))
		},
	}
}

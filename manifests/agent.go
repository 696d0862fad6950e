package manifests

import _ "embed"

// The objects that run the agent on a managed cluster, one YAML document each.
// pkg/hub/addon/install adds what differs between clusters: the namespace, the
// arguments, the image, and the values of an AddOnDeploymentConfig. They have no
// template syntax, so a value cannot change their structure.
var (
	// AgentNamespaceYAML is the install namespace.
	//go:embed agent/namespace.yaml
	AgentNamespaceYAML []byte

	// AgentServiceAccountYAML is the agent's ServiceAccount.
	//go:embed agent/serviceaccount.yaml
	AgentServiceAccountYAML []byte

	// AgentRoleYAML has the agent's rights on the managed cluster.
	//go:embed agent/role.yaml
	AgentRoleYAML []byte

	// AgentRoleBindingYAML grants the Role to the ServiceAccount.
	//go:embed agent/rolebinding.yaml
	AgentRoleBindingYAML []byte

	// AgentEventRoleYAML has the right to write events about the agent's pod.
	//go:embed agent/event-role.yaml
	AgentEventRoleYAML []byte

	// AgentEventRoleBindingYAML grants that Role to the ServiceAccount.
	//go:embed agent/event-rolebinding.yaml
	AgentEventRoleBindingYAML []byte

	// AgentDeploymentYAML runs the agent.
	//go:embed agent/deployment.yaml
	AgentDeploymentYAML []byte

	// HostedMarkerRuleYAML is a further rule for the managed cluster in hosted mode: the
	// pre-delete hook reads the ServiceAccount that owns its marker.
	//go:embed agent/hosted-marker-rule.yaml
	HostedMarkerRuleYAML []byte

	// UninstallJobYAML is the pre-delete hook. It removes the copies.
	//go:embed agent/uninstall-job.yaml
	UninstallJobYAML []byte
)

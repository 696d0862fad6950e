package manifests

import _ "embed"

// The objects that run the agent on a managed cluster, one YAML document each.
// They are complete but for what differs between clusters, which pkg/hub/addon
// fills in: the namespace, the arguments, the image and what an
// AddOnDeploymentConfig asks for. They carry no template syntax, so no value
// can ever change their structure.
var (
	// AgentNamespaceYAML is the install namespace.
	//go:embed agent/namespace.yaml
	AgentNamespaceYAML []byte

	// AgentServiceAccountYAML is the agent's ServiceAccount.
	//go:embed agent/serviceaccount.yaml
	AgentServiceAccountYAML []byte

	// AgentRoleYAML is what the agent may do on the managed cluster.
	//go:embed agent/role.yaml
	AgentRoleYAML []byte

	// AgentRoleBindingYAML gives the Role to the ServiceAccount.
	//go:embed agent/rolebinding.yaml
	AgentRoleBindingYAML []byte

	// AgentEventRoleYAML lets the agent write events on its own pod.
	//go:embed agent/event-role.yaml
	AgentEventRoleYAML []byte

	// AgentEventRoleBindingYAML gives that Role to the ServiceAccount.
	//go:embed agent/event-rolebinding.yaml
	AgentEventRoleBindingYAML []byte

	// AgentDeploymentYAML runs the agent.
	//go:embed agent/deployment.yaml
	AgentDeploymentYAML []byte

	// HostedMarkerRuleYAML is what the uninstall hook may do on the managed cluster
	// in hosted mode besides: find the object with which its marker goes.
	//go:embed agent/hosted-marker-rule.yaml
	HostedMarkerRuleYAML []byte

	// UninstallJobYAML is the pre-delete hook, which removes the copies.
	//go:embed agent/uninstall-job.yaml
	UninstallJobYAML []byte
)

package diagnosis

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// hubRules look at what all clusters have in common, and clusterRules at one link of a cluster's chain each. A rule may ask
// what the rules before it found.
var (
	hubRules     = []func(*examination){installed, controller, leading, hubRole}
	clusterRules = []func(*examination){
		rightCluster, registered, accepted, joined,
		isEnabled, hosted, configuration,
		delivered, applied,
		binding, requests, renewed,
		installNamespace, deployed, pods, agentCredentials, connection, available, lease,
		uninstall, mirrored,
	}
)

// controllerNamespace is where the controller is installed unless a user chose another namespace.
const controllerNamespace = "open-cluster-management"

func installed(e *examination) {
	if !e.Hub.Installed && !e.unread(AddOnDefinition) {
		e.add(NotInstalled, fmt.Sprintf("the hub has no ClusterManagementAddOn %s: the add-on is not installed, or someone deleted it", manifests.AddonName),
			step("Install the add-on, or apply its manifests again", "make deploy-example"))
	}
	if !e.Hub.MirrorsServed && !e.unread(Mirrors) {
		e.add(CRDsMissing, "the hub does not serve ConfigMapMirrors: the add-on's CRDs are missing, and its controller does not start without them",
			step("Apply the manifests of the controller's version, or upgrade the chart", e.Kubectl+" apply --server-side -f deploy/base/crds"))
	}
}

func controller(e *examination) {
	if e.unread(Controller) {
		return
	}
	c := e.Hub.Controller
	if c == nil {
		e.add(ControllerMissing, fmt.Sprintf("there is no Deployment %s on the hub: nothing ships the agents, approves their certificates or gives them their rights",
			manifests.ControllerName), step("Install the add-on, or apply its manifests again", "make deploy-example"))
		return
	}
	if denied := e.Hub.ControllerDenied; len(denied) > 0 {
		e.add(ControllerForbidden, fmt.Sprintf("the controller's ServiceAccount may not %s: its ClusterRole or a binding of it was changed or deleted",
			strings.Join(denied, ", ")), step("Apply the add-on's manifests again", "make deploy-example"))
	}
	d := c.Deployment
	if d.Status.AvailableReplicas > 0 {
		return
	}
	logs := step("Look at its log", fmt.Sprintf("%s logs -n %s -l app.kubernetes.io/name=%s --prefix --tail=-1", e.Kubectl, d.Namespace, manifests.ControllerName))
	why := "none of its pods is ready"
	switch {
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		e.add(ControllerNotRunning, fmt.Sprintf("the Deployment %s/%s is scaled to 0", d.Namespace, d.Name),
			step("Scale it up", fmt.Sprintf("%s scale deployment -n %s %s --replicas=2", e.Kubectl, d.Namespace, d.Name)))
		return
	case failureOf(c) != "":
		why = "no pod can be created: " + failureOf(c)
	default:
		if t := worst(c); t.reason != "" {
			why = t.message
		}
	}
	e.add(ControllerNotRunning, fmt.Sprintf("the Deployment %s/%s has no ready pod: %s", d.Namespace, d.Name, why), logs,
		step("Look at its pods and their events", fmt.Sprintf("%s describe pods -n %s -l app.kubernetes.io/name=%s", e.Kubectl, d.Namespace, manifests.ControllerName)))
}

// leading looks at the leader election: a controller that is ready and has lost its lease does nothing.
func leading(e *examination) {
	l := e.Hub.Lease
	if e.has(ControllerNotRunning, ControllerMissing) || e.Hub.Controller == nil || l == nil || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return
	}
	late := e.Now.Sub(l.Spec.RenewTime.Time)
	if limit := 2 * time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second; late > limit {
		e.add(ControllerNotLeading, fmt.Sprintf("no controller has renewed the Lease %s/%s for %s (more than %s): its pods are ready and none works",
			l.Namespace, l.Name, late.Round(time.Second), limit),
			step("Look at the log of its pods", fmt.Sprintf("%s logs -n %s -l app.kubernetes.io/name=%s --prefix --tail=-1", e.Kubectl, l.Namespace, manifests.ControllerName)),
			step("Compare the clock of this machine with that of the hub", ""))
	}
}

// hubRole looks at the ClusterRole with the agents' rights on the hub.
func hubRole(e *examination) {
	if e.Hub.Role == nil && !e.unread(HubRole) && !e.has(NotInstalled, ControllerMissing) {
		e.add(HubRoleMissing, fmt.Sprintf("the hub has no ClusterRole %s: no agent may read its namespace", manifests.HubRole),
			step("Apply the add-on's manifests again", "make deploy-example"))
	}
}

// binding looks at what the agent may do in its namespace on the hub.
func binding(e *examination) {
	if e.AddOn == nil || e.deleting() || e.unread(Bindings) {
		return
	}
	if e.Binding == nil && e.enabledFor() > settles && !e.has(ConfigurationRefused, RegistrationRefused, NotConfigured) {
		e.add(BindingMissing, fmt.Sprintf("the namespace %s has no RoleBinding %s, so the agent may not read it", e.Cluster, manifests.HubRole), e.controllerLog())
	}
	if e.Binding != nil && !identity.BoundAs(e.Binding, identity.RoleBinding(e.AddOn)) {
		e.add(BindingMissing, fmt.Sprintf("the RoleBinding %s in the namespace %s does not bind the agent's user: someone changed it, and the controller has not put it right",
			manifests.HubRole, e.Cluster), e.controllerLog())
	}
}

// failureOf returns why a Deployment's pods cannot be created, or an empty string.
func failureOf(w *Workload) string {
	for _, c := range w.Deployment.Status.Conditions {
		if c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

func (e *examination) controllerNamespace() string {
	if e.Hub.Controller != nil {
		return e.Hub.Controller.Deployment.Namespace
	}
	return controllerNamespace
}

package diagnosis

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
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
		installNamespace, stopped, deployed, pods, agentCredentials, connection, available, lease,
		uninstall, uninstalled, mirrored,
	}
)

// ControllerNamespace is where the controller is installed by default.
const ControllerNamespace = "open-cluster-management"

func installed(e *examination) {
	if !e.Hub.Installed && !e.unread(AddOnDefinition) {
		e.add(NotInstalled, fmt.Sprintf("the hub has no ClusterManagementAddOn %s: the add-on is not installed, or someone deleted it", manifests.AddonName), again("Install the add-on"))
	}
	if !e.Hub.MirrorsServed && !e.unread(Mirrors) {
		e.add(CRDsMissing, "the hub does not serve ConfigMapMirrors: the add-on's CRDs are missing, and its controller does not start without them",
			again("Apply the manifests of the controller's version, or upgrade the chart"))
	}
}

// again returns a step that depends on how the add-on was installed. A command would be wrong for most.
func again(text string) registration.Step {
	return step(text+", in the way that your hub uses: make deploy-example with the same variables, Helm, or kustomize", "")
}

func controller(e *examination) {
	if e.unread(Controller) {
		return
	}
	c := e.Hub.Controller
	if c == nil {
		e.add(ControllerMissing, fmt.Sprintf("the hub has no Deployment %s: nothing ships the agents, approves their certificates or gives them their rights",
			manifests.ControllerName), again("Install the add-on, or apply its manifests again"))
		return
	}
	if denied := e.Hub.ControllerDenied; len(denied) > 0 {
		e.add(ControllerForbidden, fmt.Sprintf("the controller's ServiceAccount on the hub may not %s: someone changed or deleted its ClusterRole, its Role or a binding of them",
			strings.Join(denied, ", ")), step("Look at them", e.hub("get", "clusterrole,clusterrolebinding,role,rolebinding", "-A", "-l",
			"app.kubernetes.io/name="+manifests.ControllerName, "-o", "yaml")), again("Apply the add-on's manifests again"))
	}
	d := c.Deployment
	if d.Status.AvailableReplicas > 0 {
		return
	}
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		e.add(ControllerNotRunning, fmt.Sprintf("the Deployment %s/%s is scaled to 0", d.Namespace, d.Name),
			step("Scale it up", e.hub("scale", "deployment", "-n", d.Namespace, d.Name, "--replicas=2")))
		return
	}
	why := "the cause is not known"
	switch failure := failureOf(c); {
	case failure != "":
		why = "no pod can be created: " + failure
	case !e.unread(ControllerPods):
		t := worst(c, e.Now)
		if t.reason == "" {
			return // its pods have just started
		}
		why = t.message
	}
	e.add(ControllerNotRunning, fmt.Sprintf("the Deployment %s/%s has no ready pod: %s", d.Namespace, d.Name, why),
		step("Look at its log", e.hub("logs", "-n", d.Namespace, "-l", "app.kubernetes.io/name="+manifests.ControllerName, "--prefix", "--tail=-1")),
		step("Look at its pods and their events", e.hub("describe", "pods", "-n", d.Namespace, "-l", "app.kubernetes.io/name="+manifests.ControllerName)))
}

// leading looks at the leader election: controllers of which none holds the lease do nothing.
func leading(e *examination) {
	l := e.Hub.Lease
	if e.has(ControllerNotRunning, ControllerMissing) || e.Hub.Controller == nil || l == nil || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return
	}
	late := e.Now.Sub(l.Spec.RenewTime.Time)
	if limit := 2 * time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second; late > limit {
		e.add(ControllerNotLeading, fmt.Sprintf("the controller's pods are ready, and none of them holds the leader election lease: the Lease %s/%s was renewed %s ago",
			l.Namespace, l.Name, late.Round(time.Second)),
			step("Look at the log of its pods", e.hub("logs", "-n", l.Namespace, "-l", "app.kubernetes.io/name="+manifests.ControllerName, "--prefix", "--tail=-1")),
			step("Compare the clock of this machine with that of the hub", ""))
	}
}

// hubRole looks at the ClusterRole with the agents' rights on the hub.
func hubRole(e *examination) {
	if !e.Hub.HasRole && !e.unread(HubRole) && !e.has(NotInstalled, ControllerMissing) {
		e.add(HubRoleMissing, fmt.Sprintf("the hub has no ClusterRole %s: no agent may read its namespace", manifests.HubRole), again("Apply the add-on's manifests again"))
	}
}

// binding looks at what the agent may do in its namespace on the hub.
func binding(e *examination) {
	if e.AddOn == nil || e.deleting() || e.unread(Bindings) || e.enabledFor() < settles || e.has(ConfigurationRefused, RegistrationRefused, NotConfigured) {
		return
	}
	switch {
	case e.Binding == nil:
		e.add(BindingMissing, fmt.Sprintf("the namespace %s has no RoleBinding %s, so the agent may not read it", e.Cluster, manifests.HubRole), e.controllerLog())
	case !identity.BoundAs(e.Binding, identity.RoleBinding(e.AddOn)):
		e.add(BindingMissing, fmt.Sprintf("someone changed the RoleBinding %s in the namespace %s, and the controller has not restored it: it does not give the agent its rights",
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

func (e *examination) controllerLog() registration.Step {
	namespace := ControllerNamespace
	if e.Hub.Controller != nil {
		namespace = e.Hub.Controller.Deployment.Namespace
	}
	return step("The controller's log has the reason",
		e.hub("logs", "-n", namespace, "-l", "app.kubernetes.io/name="+manifests.ControllerName, "--prefix", "--tail=-1")+" | grep "+e.Cluster)
}

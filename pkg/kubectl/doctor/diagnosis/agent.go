package diagnosis

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/hub/rollout/plan"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// here reports whether the agent should be on the cluster that was read.
func (e *examination) here() bool {
	return e.Managed != nil && e.AddOn != nil && !e.deleting() && len(e.Works) > 0 && e.enabledFor() > settles
}

func installNamespace(e *examination) {
	if !e.here() || e.unread(AgentNamespace) {
		return
	}
	switch n := e.Managed.Namespace; {
	case n == nil && !e.broken(clusterLink, shippedLink):
		e.add(NamespaceMissing, fmt.Sprintf("there is no namespace %s on the cluster, in which the agent is installed", e.namespace()), e.workAgentSteps()...)
	case n != nil && n.DeletionTimestamp != nil:
		var left []string
		for _, c := range n.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				left = append(left, c.Message)
			}
		}
		e.add(NamespaceTerminating, fmt.Sprintf("someone deletes the namespace %s on the cluster, in which the agent is installed: nothing can be created there. %s",
			n.Name, strings.Join(left, " ")), step("See what it waits for", e.there("get", "namespace", n.Name, "-o", "yaml")))
	}
}

// stopped looks whether the agent has stopped as for an uninstall, by what it reports or by the marker that stops it. It has to be
// restarted then. A marker of an earlier ManagedClusterAddOn stops no agent.
func stopped(e *examination) {
	if e.AddOn == nil || e.deleting() {
		return
	}
	var steps []registration.Step
	if e.Managed != nil && e.Managed.Marker != nil && e.Managed.Marker.Labels[manifests.UninstallLabel] == string(e.AddOn.UID) {
		steps = append(steps, step("Delete the ConfigMap that stops it", e.there("delete", "configmap", "-n", e.Managed.Marker.Namespace, e.Managed.Marker.Name)))
	}
	if len(steps) > 0 || e.condition(manifests.ConditionConfigMapsSynced).Reason == condition.ReasonUninstalling {
		steps = append(steps, step("Restart the agent", e.there("rollout", "restart", "deployment", "-n", e.namespace(), manifests.AgentDeployment)))
		e.add(AgentStopped, fmt.Sprintf("the agent has stopped as for an uninstall, although the add-on is enabled: someone has created the ConfigMap %s/%s",
			e.namespace(), manifests.UninstallMarker), steps...)
	}
}

// deployed looks at the agent's Deployment and its rights on the managed cluster.
func deployed(e *examination) {
	if !e.here() {
		return
	}
	if denied := e.Managed.Denied; len(denied) > 0 {
		e.add(AgentForbidden, fmt.Sprintf("the agent's ServiceAccount may not %s in the namespace %s: someone changed or deleted its Role or RoleBinding %s, and OCM's work agent has not restored it",
			strings.Join(denied, ", "), e.namespace(), manifests.AgentRole), e.workAgentSteps()...)
	}
	if e.unread(AgentDeployment) {
		return
	}
	w := e.Managed.Agent
	if w == nil {
		if !e.has(NamespaceMissing) {
			e.add(AgentMissing, fmt.Sprintf("there is no Deployment %s/%s on the cluster: it was never applied, or someone deleted it and OCM's work agent has not created it again",
				e.namespace(), manifests.AgentDeployment), e.workAgentSteps()...)
		}
		return
	}
	if isScaledDown(w) {
		e.add(AgentScaledDown, fmt.Sprintf("the Deployment %s/%s is scaled to 0", w.Deployment.Namespace, w.Deployment.Name),
			step("Scale it up", e.there("scale", "deployment", "-n", w.Deployment.Namespace, w.Deployment.Name, "--replicas=1")))
	}
}

// hasPods reports whether the agent has a Deployment that should have a pod, and its pods were read.
func (e *examination) hasPods() bool {
	return e.here() && e.Managed.Agent != nil && !e.has(AgentScaledDown) && !e.unread(AgentPods)
}

// pods looks at the agent's pods.
func pods(e *examination) {
	if !e.hasPods() {
		return
	}
	w := e.Managed.Agent
	describe := step("Look at its pod and the events", e.there("describe", "deploy,rs,pod", "-n", w.Deployment.Namespace, "-l", "app.kubernetes.io/name="+manifests.AgentName))
	if failure := failureOf(w); failure != "" {
		steps := admissionSteps(failure, w.Deployment.Namespace, e.there)
		switch {
		case strings.Contains(failure, "error looking up service account"): // the ManifestWork has it
			steps = e.workAgentSteps()
		case len(steps) == 0:
			steps = []registration.Step{describe}
		}
		e.add(AgentNotCreated, "the agent's pod cannot be created: "+failure, steps...)
		return
	}
	t := worst(w, e.Now)
	if t.reason == "" || t.reason == AgentNotReady {
		return
	}
	if t.reason == AgentNotCreated {
		t.message = fmt.Sprintf("the Deployment %s/%s has no pod, and does not report why: the cluster's kube-controller-manager may not run",
			w.Deployment.Namespace, w.Deployment.Name)
	}
	steps := []registration.Step{describe}
	if e.hosting() != "" && strings.Contains(t.message, `"`+manifests.ManagedKubeconfigSecret+`" not found`) {
		steps = []registration.Step{step(fmt.Sprintf("Create the Secret %s/%s with a kubeconfig of the managed cluster, which only you can provide (%s#enable-it)",
			w.Deployment.Namespace, manifests.ManagedKubeconfigSecret, pageHosted), "")}
	}
	e.add(t.reason, "the agent does not run: "+t.message, steps...)
}

// agentCredentials judges the agent's credentials as the agent does.
func agentCredentials(e *examination) {
	if !e.here() || e.unread(AgentSecret) {
		return
	}
	name := e.namespace() + "/" + manifests.HubKubeconfigSecret
	if e.Managed.Secret == nil {
		e.add(Reason(credentials.SecretMissing), fmt.Sprintf("the cluster has no Secret %s with the agent's credentials: OCM's registration agent has not written it, or someone deleted it", name), e.registrationLog())
		return
	}
	policy := credentials.Policy{Identity: credentials.Identity{ClusterName: e.Cluster, AddonName: manifests.AddonName}}
	_, err := credentials.Load(e.Managed.Secret.Data, policy, e.Now)
	var bad *credentials.Error
	if errors.As(err, &bad) {
		e.add(Reason(bad.Reason), fmt.Sprintf("the agent cannot use its credentials (Secret %s): %s", name, bad.Message), e.forCredentials(bad.Reason)...)
	}
}

// forCredentials returns what a person has to do about credentials that cannot be used (docs/hub-credentials.md#the-states).
func (e *examination) forCredentials(reason credentials.Reason) []registration.Step {
	discard := step("Delete the Secret: OCM's registration agent creates it again", e.there("delete", "secret", "-n", e.namespace(), manifests.HubKubeconfigSecret))
	switch reason {
	case credentials.ServerInvalid, credentials.ProxyInvalid, credentials.CAMissing, credentials.CAInvalid:
		namespace, _ := e.ocm(registrationAgent)
		return []registration.Step{step("Correct the bootstrap kubeconfig, from which the registration agent copies this",
			e.there("edit", "secret", "-n", namespace, registration.BootstrapSecret)), discard}
	case credentials.KeyMissing, credentials.KeyInvalid, credentials.KeyMismatch:
		return []registration.Step{discard}
	case credentials.CertificateTooEarly, credentials.TokenTooEarly:
		return []registration.Step{step("Correct the clock that is wrong, on the nodes of the cluster or of the hub", "")}
	default:
		// The registration agent repairs the others within seconds, where it works.
		return []registration.Step{e.registrationLog()}
	}
}

func (e *examination) registrationLog() registration.Step {
	return e.ocmLog("If it is not repaired within a minute, look at the registration agent's log", registrationAgent)
}

// connection looks at what the agent tells about its connection to the hub.
func connection(e *examination) {
	if message := e.condition(manifests.ConditionConfigMapsSynced).Message; e.AddOn != nil && !e.deleting() && strings.Contains(message, credentials.StayInUse) {
		for _, reason := range credentialReasons {
			if strings.Contains(message, ": "+string(reason)+": ") {
				e.add(Reason(reason), "the agent works with its last good credentials, until they expire: "+message, e.forCredentials(reason)...)
			}
		}
	}
	if !e.hasPods() {
		return
	}
	t, state := worst(e.Managed.Agent, e.Now), lastState(e.Managed.Agent)
	ready := e.Managed.Agent.Deployment.Status.AvailableReplicas > 0
	switch {
	case state != nil && state.Reason != string(credentials.HubConnected) && !ready:
		e.add(Reason(state.Reason), "the agent is not connected to the hub: "+state.Message, e.forConnection(credentials.Reason(state.Reason))...)
	case t.reason == AgentNotReady:
		e.add(AgentNotReady, t.message, step("See what it waits for",
			e.there("port-forward", "-n", e.namespace(), "deploy/"+manifests.AgentDeployment, "8080")+" & sleep 2; curl localhost:8080/readyz"))
	}
}

func (e *examination) forConnection(reason credentials.Reason) []registration.Step {
	switch reason {
	case credentials.HubUnreachable:
		return []registration.Step{step("Check the network from the cluster's pods to the hub: a NetworkPolicy, a proxy, a firewall", "")}
	case credentials.HubRefusesCredentials:
		return []registration.Step{step("If the hub was rebuilt, join the cluster to it again", "")}
	case credentials.HubForbids:
		return []registration.Step{step("Look at the RoleBinding on the hub", e.hub("get", "rolebinding", "-n", e.Cluster, manifests.HubRole)), e.controllerLog()}
	default:
		return e.forCredentials(reason)
	}
}

// available looks at the conditions about the agent on the hub.
func available(e *examination) {
	if e.AddOn == nil || e.deleting() {
		return
	}
	if c := e.condition(addonv1alpha1.ManagedClusterAddOnConditionDegraded); c.Status == metav1.ConditionTrue {
		e.add(AgentNotAvailable, "the agent's Deployment is not available: "+c.Message, e.lookThere()...)
	}
	if expires := report.Expiry(e.AddOn.Status.Conditions); expires != nil && e.Now.After(expires.Time) {
		e.add(CertificateExpired, fmt.Sprintf("the agent's credentials for the hub expired at %s, and OCM's registration agent has not renewed them", expires.UTC().Format(time.RFC3339)),
			e.lookThere()...)
	}
	silent := e.condition(manifests.ConditionConfigMapsSynced).Reason == plan.ReasonAgentSilent
	switch c := e.condition(addonv1alpha1.ManagedClusterAddOnConditionAvailable); {
	case c.Status == metav1.ConditionFalse, silent:
		e.add(AgentSilent, "the agent does not renew its lease: it is cut off from the hub, has ended, or cannot read or write ConfigMaps. "+c.Message, e.lookThere()...)
	case c.Status != metav1.ConditionTrue && !e.broken(hubLink, clusterLink, enabledLink, shippedLink, credentialsLink, agentLink):
		e.add(Starting, "OCM has not seen the agent's lease yet: it reads leases every 30 s",
			step("Wait. If it takes more than a minute, ask with a kubeconfig of the cluster", e.askThere()))
	}
}

// lease looks at the agent's lease on the cluster, which OCM's registration agent reads.
func lease(e *examination) {
	if !e.here() || e.unread(AgentLease) || e.broken(agentLink) && !e.has(AgentSilent, Starting) {
		return
	}
	if e.Managed.LeaseLate(e.Now) {
		e.leaseLate()
		return
	}
	available := e.condition(addonv1alpha1.ManagedClusterAddOnConditionAvailable)
	if since := max(0, e.Now.Sub(available.LastTransitionTime.Time)); available.Status != metav1.ConditionTrue && since > settles && e.enabledFor() > 2*settles {
		e.add(LeaseNotRead, fmt.Sprintf("the agent renews its Lease %s/%s, but OCM's registration agent does not report it: that one does not run, or does not reach the hub",
			e.Managed.Lease.Namespace, e.Managed.Lease.Name), e.registrationLog())
	}
}

// LeaseLate reports whether the agent has not renewed its Lease for longer than leaseLate, or has none.
func (m *Managed) LeaseLate(now time.Time) bool {
	return m.Lease == nil || m.Lease.Spec.RenewTime == nil || now.Sub(m.Lease.Spec.RenewTime.Time) > leaseLate
}

func (e *examination) leaseLate() {
	message := fmt.Sprintf("there is no Lease %s/%s on the cluster", e.namespace(), manifests.AgentLease)
	if l := e.Managed.Lease; l != nil && l.Spec.RenewTime != nil {
		message = fmt.Sprintf("the agent last renewed its Lease %s/%s %s ago. It should each minute, and OCM takes it for lost after five",
			l.Namespace, l.Name, e.Now.Sub(l.Spec.RenewTime.Time).Round(time.Second))
	}
	if why := leaseTrouble(e.Managed.AgentLog); why != "" {
		e.add(LeaseNotRenewed, message+". The agent's log tells why: "+why, append(admissionSteps(why, e.namespace(), e.there), e.agentLog())...)
		return
	}
	e.add(LeaseNotRenewed, message+": it cannot write the Lease, cannot read or write ConfigMaps on the hub or on the managed cluster, or hangs", e.agentLog(),
		step("If the log does not tell why, restart the agent", e.there("rollout", "restart", "deployment", "-n", e.namespace(), manifests.AgentDeployment)))
}

// leaseLine matches a line in which the agent logs why it does not renew its Lease, in the formats text and json.
var leaseLine = regexp.MustCompile(`"(?:Failed to renew lease, retrying|Paused lease renewal)".*\b(?:err|reason)"?[=:]("(?:[^"\\]|\\.)*")`)

// leaseTrouble returns what the log tells last about why the agent does not renew its Lease, or an empty string.
func leaseTrouble(log string) string {
	lines := leaseLine.FindAllStringSubmatch(log, -1)
	if len(lines) == 0 {
		return ""
	}
	why, err := strconv.Unquote(lines[len(lines)-1][1])
	if err != nil {
		return ""
	}
	return text.Shorten(strings.Join(strings.Fields(why), " "), maxRefusal)
}

// leaseLate is after how long without a renewal something is wrong. The agent renews its lease each minute. OCM takes it for lost
// after five.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/lease_controller.go
const leaseLate = 150 * time.Second

func (e *examination) agentLog() registration.Step {
	return step("Look at the agent's log", e.there("logs", "-n", e.namespace(), "deploy/"+manifests.AgentDeployment))
}

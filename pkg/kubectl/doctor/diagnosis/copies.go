package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/agent/report/condition"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// uninstalled looks for what an uninstall left in the default install namespace. The add-on may be enabled on another hub, whose
// agent uses a Secret of the same name: it must not be taken for a remainder.
func uninstalled(e *examination) {
	if e.AddOn != nil || e.unread(AddOns, AgentDeployment) || e.Managed == nil || e.Managed.Secret == nil ||
		e.Managed.Agent != nil || e.Managed.OtherHub != "" || !e.Managed.SecretOfHub {
		return
	}
	e.add(SecretLeft, fmt.Sprintf("the add-on is not enabled, and the cluster has the Secret %s/%s: OCM's registration agent was restarted while the add-on "+
		"was being disabled, and does not know of it any more. The credentials have no rights left on the hub", e.namespace(), manifests.HubKubeconfigSecret),
		step("Delete it, unless the add-on was disabled in this minute", e.there("delete", "secret", "-n", e.namespace(), manifests.HubKubeconfigSecret)))
}

// uninstall looks at an add-on that is being disabled.
func uninstall(e *examination) {
	if !e.deleting() {
		return
	}
	synced, since := e.condition(manifests.ConditionConfigMapsSynced), e.ago(*e.AddOn.DeletionTimestamp)
	done := synced.Reason == condition.ReasonUninstalled || e.condition(addonv1alpha1.ManagedClusterAddOnHookManifestCompleted).Status == metav1.ConditionTrue
	denied := admissionSteps(synced.Message, e.namespace(), e.there)
	switch {
	case done || since < settles && len(denied) == 0:
	case synced.Reason == condition.ReasonUninstalling && synced.Message != condition.Stopped:
		e.add(UninstallBlocked, fmt.Sprintf("the add-on is being disabled for %s: %s", since, synced.Message), denied...)
	case e.has(NoManagedCluster, NotAccepted, NotJoined, ClusterUnavailable, WorkAgentNotRunning, ControllerMissing, ControllerNotRunning, HostingClusterUnavailable):
		e.add(UninstallWaits, fmt.Sprintf("the add-on is being disabled for %s, and its copies cannot be removed from the cluster meanwhile", since), e.release())
	default:
		message := "its pre-delete hook has not reported"
		if e.Managed != nil && e.Managed.Hook != nil && !e.unread(AgentPods) {
			if t := worst(e.Managed.Hook, e.Now); t.reason != "" {
				message = "its pre-delete hook does not run: " + t.message
			}
		}
		e.add(UninstallNotStarted, fmt.Sprintf("the add-on is being disabled for %s, and %s", since, message), e.hookSteps()...)
	}
}

func (e *examination) hookSteps() []registration.Step {
	if e.Managed == nil {
		namespace, name := e.hookWork()
		return append(e.lookThere(), step("Look at the hook's ManifestWork", e.hub("describe", "manifestwork", "-n", namespace, name)))
	}
	return []registration.Step{step("Look at the hook's Job and pod",
		e.there("describe", "job,pod", "-n", e.namespace(), "-l", "app.kubernetes.io/name="+manifests.UninstallJob))}
}

// mirrored looks at what the agent reports about the ConfigMaps.
func mirrored(e *examination) {
	if e.AddOn == nil || e.deleting() {
		return
	}
	synced := e.condition(manifests.ConditionConfigMapsSynced)
	if synced.Status != metav1.ConditionTrue {
		e.notSynced(synced)
	}
	if e.unread(Mirrors) || e.broken(hubLink, clusterLink, enabledLink, shippedLink, credentialsLink, agentLink) || e.enabledFor() < settles {
		return
	}
	switch {
	case e.Mirror == nil:
		e.add(NotReported, fmt.Sprintf("there is no ConfigMapMirror %s/%s in which the agent reports: the controller creates it", e.Cluster, manifests.AddonName), e.controllerLog())
	case e.Mirror.Status == nil || synced.Status == "":
		e.add(NotReported, fmt.Sprintf("the agent has not reported in ConfigMapMirror %s/%s and in the condition %s: it is of a version without this report, or someone deleted the object",
			e.Cluster, manifests.AddonName, manifests.ConditionConfigMapsSynced), e.agentLog(),
			step("After a deletion, restart the agent", e.there("rollout", "restart", "deployment", "-n", e.namespace(), manifests.AgentDeployment)))
	}
}

// notSynced adds what the condition and the ConfigMapMirror tell. The condition has the first of several reasons.
func (e *examination) notSynced(synced metav1.Condition) {
	if synced.Reason == condition.ReasonHeld {
		e.add(DeletionHeld, "the deletion of many copies at once is held: "+synced.Message,
			step("If the ConfigMaps were not deleted on purpose, restore them on the hub. If they were, release the deletion",
				e.hub("annotate", "managedclusteraddon", "-n", e.Cluster, manifests.AddonName, manifests.ReleaseAnnotation+"="+manifests.ReleaseTrue)))
	}
	if names := e.inState(v1alpha1.MirrorFailed); synced.Reason == condition.ReasonFailed || len(names) > 0 {
		message := e.details(synced, v1alpha1.MirrorFailed) + e.told("CopyFailed", names)
		steps := admissionSteps(message, e.namespace(), e.there)
		if len(steps) == 0 {
			steps = []registration.Step{e.events("CopyFailed")}
		}
		e.add(Failed, "an API server cannot be read, or rejects a copy: "+message, steps...)
	}
	if names := e.inState(v1alpha1.MirrorConflict); synced.Reason == condition.ReasonConflict || len(names) > 0 {
		e.add(Conflict, "a ConfigMap on the managed cluster that is not a copy has the name of a ConfigMap on the hub: "+e.details(synced, v1alpha1.MirrorConflict), e.handOver(names)...)
	}
	if names := e.inState(v1alpha1.MirrorContested); synced.Reason == condition.ReasonContested || len(names) > 0 {
		e.add(Contested, "another writer on the managed cluster keeps undoing the copy: "+e.details(synced, v1alpha1.MirrorContested)+e.told("CopyContested", names),
			step("Stop that writer, or stop the copying on the hub", e.hub("label", "configmap", "-n", e.Cluster, first(names), manifests.SyncLabel+"="+manifests.SyncDisabled)))
	}
	waits := synced.Reason == condition.ReasonSyncing || synced.Reason == condition.ReasonWaiting
	if since := e.ago(synced.LastTransitionTime); waits && since > settles && !e.broken(credentialsLink, agentLink) {
		e.add(Syncing, fmt.Sprintf("the agent has not written every copy for %s: %s", since, synced.Message), e.agentLog())
	}
}

// inState returns the names of the ConfigMaps in a state, as the agent reports them. It ignores what is no name of a ConfigMap.
func (e *examination) inState(state v1alpha1.MirrorState) []string {
	var names []string
	if e.Mirror == nil || e.Mirror.Status == nil {
		return nil
	}
	for _, c := range e.Mirror.Status.ConfigMaps {
		if c.State == state && len(validation.IsDNS1123Subdomain(c.Name)) == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// details returns the messages of the ConfigMaps in a state, or that of the condition.
func (e *examination) details(synced metav1.Condition, state v1alpha1.MirrorState) string {
	const most = 3
	var all []string
	if e.Mirror != nil && e.Mirror.Status != nil {
		for _, c := range e.Mirror.Status.ConfigMaps {
			if c.State == state {
				all = append(all, c.Name+": "+c.Message)
			}
		}
	}
	switch {
	case len(all) == 0:
		return synced.Message
	case len(all) > most:
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:most], "; "), len(all)-most)
	default:
		return strings.Join(all, "; ")
	}
}

// told returns what the agent's last event of a reason tells about one of the ConfigMaps, or about any if none is known.
func (e *examination) told(reason string, names []string) string {
	for _, event := range slices.Backward(e.Events) {
		if event.Reason == reason && (len(names) == 0 || slices.Contains(names, event.InvolvedObject.Name)) {
			return fmt.Sprintf(". The agent reports about %s: %q", event.InvolvedObject.Name, event.Message)
		}
	}
	return ""
}

func (e *examination) events(reason string) registration.Step {
	return step("The event on the ConfigMap has the API server's answer", e.hub("get", "events", "-n", e.Cluster, "--field-selector", "reason="+reason))
}

// handOver returns how a ConfigMap of the managed cluster is handed over.
func (e *examination) handOver(names []string) []registration.Step {
	return []registration.Step{
		step("If the hub's content is to replace it, hand it over on the managed cluster",
			e.there("annotate", "configmap", "-n", e.namespace(), first(names), manifests.AdoptAnnotation+"="+manifests.AdoptTrue)),
		step("If it is to stay, stop the copying on the hub", e.hub("label", "configmap", "-n", e.Cluster, first(names), manifests.SyncLabel+"="+manifests.SyncDisabled)),
	}
}

// first returns the first name, or a placeholder.
func first(names []string) string {
	if len(names) == 0 {
		return "NAME"
	}
	return names[0]
}

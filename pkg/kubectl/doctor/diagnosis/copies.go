package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// Reasons of the condition ConfigMapsSynced (docs/reference.md#configmapssynced).
const (
	syncedFailed       = "Failed"
	syncedHeld         = "DeletionHeld"
	syncedConflict     = "Conflict"
	syncedContested    = "Contested"
	syncedSyncing      = "Syncing"
	syncedWaiting      = "Waiting"
	syncedUninstalling = "Uninstalling"
)

// uninstall looks at an add-on that is being disabled.
func uninstall(e *examination) {
	if !e.deleting() {
		return
	}
	waits := e.ago(*e.AddOn.DeletionTimestamp)
	synced := e.condition(manifests.ConditionConfigMapsSynced)
	done := e.condition(addonv1alpha1.ManagedClusterAddOnHookManifestCompleted).Status == metav1.ConditionTrue
	if synced.Reason == syncedUninstalling && synced.Status == metav1.ConditionFalse && !done {
		e.add(UninstallBlocked, fmt.Sprintf("the add-on is being disabled for %s: %s", waits, synced.Message))
		return
	}
	if e.broken(clusterLink, hubLink) {
		e.add(UninstallWaits, fmt.Sprintf("the add-on is being disabled for %s, and its copies cannot be removed from the cluster meanwhile", waits),
			step("If the cluster is lost, release its add-on: the copies stay on it", e.release()))
		return
	}
	if waits < settles || done {
		return
	}
	message := "its hook has not reported"
	if e.Managed != nil && e.Managed.Hook != nil {
		if t := worst(e.Managed.Hook); t.reason != "" {
			message = t.message
		}
	}
	e.add(UninstallNotStarted, fmt.Sprintf("the add-on is being disabled for %s, and its pre-delete hook does not run: %s", waits, message), e.hookSteps()...)
}

func (e *examination) hookSteps() []registration.Step {
	if e.Managed == nil {
		return append(e.lookThere(), step("Look at the hook's ManifestWork",
			fmt.Sprintf("%s describe manifestwork -n %s addon-%s-pre-delete", e.Kubectl, e.Cluster, manifests.AddonName)))
	}
	return []registration.Step{step("Look at the hook's Job and pod", fmt.Sprintf("%s describe job,pod -n %s -l app.kubernetes.io/name=%s",
		e.Managed.Kubectl, e.namespace(), manifests.UninstallJob))}
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
	if e.has(AgentSilent, Starting) || e.unread(Mirrors) || e.has(CRDsMissing) {
		return
	}
	if e.Mirror == nil && e.enabledFor() > settles {
		e.add(NotReported, fmt.Sprintf("there is no ConfigMapMirror %s/%s in which the agent reports: the controller creates it", e.Cluster, manifests.AddonName), e.controllerLog())
	}
}

// notSynced adds what the condition tells. It has the first of several reasons, and the ConfigMapMirror has all.
func (e *examination) notSynced(synced metav1.Condition) {
	states := map[v1alpha1.MirrorState]bool{}
	if e.Mirror != nil && e.Mirror.Status != nil {
		for _, c := range e.Mirror.Status.ConfigMaps {
			states[c.State] = true
		}
	}
	if synced.Reason == syncedHeld {
		e.add(DeletionHeld, "the deletion of many copies at once is held: "+synced.Message,
			step("If the ConfigMaps were not deleted on purpose, restore them on the hub. If they were, release the deletion",
				fmt.Sprintf("%s annotate managedclusteraddon -n %s %s %s=%s", e.Kubectl, e.Cluster, manifests.AddonName, manifests.ReleaseAnnotation, manifests.ReleaseTrue)))
	}
	if synced.Reason == syncedFailed || states[v1alpha1.MirrorFailed] {
		e.add(Failed, "an API server cannot be read, or refuses a copy: "+e.details(synced, v1alpha1.MirrorFailed), e.eventSteps("CopyFailed")...)
	}
	if synced.Reason == syncedConflict || states[v1alpha1.MirrorConflict] {
		e.add(Conflict, "a ConfigMap on the managed cluster that is not a copy has the name of a ConfigMap on the hub: "+e.details(synced, v1alpha1.MirrorConflict), e.handOver()...)
	}
	if synced.Reason == syncedContested || states[v1alpha1.MirrorContested] {
		e.add(Contested, "another writer on the managed cluster keeps undoing the copy: "+e.details(synced, v1alpha1.MirrorContested), e.eventSteps("CopyContested")...)
	}
	if (synced.Reason == syncedSyncing || synced.Reason == syncedWaiting) && !e.has(AgentSilent, Starting) && !e.broken(agentLink, credentialsLink) {
		e.add(Syncing, "the agent has not written every copy yet: "+synced.Message, step("Wait. If it takes more than a minute, look at the agent's log on the cluster",
			fmt.Sprintf("kubectl logs -n %s deploy/%s", e.namespace(), manifests.AgentDeployment)))
	}
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

// handOver returns how a ConfigMap of the managed cluster is handed over.
func (e *examination) handOver() []registration.Step {
	managed := "kubectl"
	if e.Managed != nil {
		managed = e.Managed.Kubectl
	}
	name := "NAME"
	if e.Mirror != nil && e.Mirror.Status != nil {
		for _, c := range e.Mirror.Status.ConfigMaps {
			if c.State == v1alpha1.MirrorConflict {
				name = c.Name
				break
			}
		}
	}
	return []registration.Step{
		step("If the hub's content is to replace it, hand it over on the managed cluster",
			fmt.Sprintf("%s annotate configmap -n %s %s %s=%s", managed, e.namespace(), name, manifests.AdoptAnnotation, manifests.AdoptTrue)),
		step("If it is to stay, stop the copying on the hub", fmt.Sprintf("%s label configmap -n %s %s %s=%s", e.Kubectl, e.Cluster, name, manifests.SyncLabel, manifests.SyncDisabled)),
	}
}

// eventSteps returns the step for a state whose event on the ConfigMap has what to do.
func (e *examination) eventSteps(reason string) []registration.Step {
	for _, event := range slices.Backward(e.Events) {
		if event.Reason == reason {
			return []registration.Step{step(fmt.Sprintf("ConfigMap %s: %s", event.InvolvedObject.Name, event.Message), "")}
		}
	}
	return []registration.Step{step("The event on the ConfigMap has what to do", fmt.Sprintf("%s get events -n %s --field-selector reason=%s", e.Kubectl, e.Cluster, reason))}
}

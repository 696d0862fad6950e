package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// delivered looks whether the ManifestWorks are there, and whether OCM's work agent looks at them.
func delivered(e *examination) {
	if e.Managed != nil {
		for name, w := range e.Managed.OCM {
			if isNamed(name, workAgent) && w.Deployment.Status.AvailableReplicas == 0 && !e.has(RegistrationAgentNotRunning) {
				e.add(WorkAgentNotRunning, notRunning(name, w), e.ocmSteps(w, name)...)
			}
		}
	}
	if e.AddOn == nil || e.deleting() || e.unread(Works) {
		return
	}
	if len(e.Works) == 0 {
		if e.enabledFor() > settles && !e.has(NotConfigured) {
			message := e.condition(addonv1beta1.ManagedClusterAddOnManifestApplied).Message
			e.add(WorkMissing, fmt.Sprintf("the controller has not shipped the agent: there is no ManifestWork addon-%s-deploy-0 in the namespace %s. %s",
				manifests.AddonName, e.Cluster, message), e.controllerLog())
		}
		return
	}
	for _, w := range e.Works {
		if len(w.Status.Conditions) == 0 && e.Now.Sub(w.CreationTimestamp.Time) > settles {
			e.add(WorkNotReported, fmt.Sprintf("ManifestWork %s/%s has no status %s after its creation: OCM's work agent on the cluster does not run, or does not reach the hub",
				w.Namespace, w.Name, e.ago(w.CreationTimestamp)), e.workAgentSteps()...)
		}
	}
}

func (e *examination) workAgentSteps() []registration.Step {
	if e.Managed == nil {
		return e.lookThere()
	}
	return []registration.Step{step("Look at the work agent's log",
		e.Managed.Kubectl+" logs -n open-cluster-management-agent deploy/klusterlet-work-agent")}
}

// applied looks whether the cluster has applied the ManifestWorks.
func applied(e *examination) {
	for _, w := range e.Works {
		c := conditionOf(w.Status.Conditions, workv1.WorkApplied)
		stale := c.Status == metav1.ConditionTrue && c.ObservedGeneration < w.Generation
		switch {
		case c.Status == metav1.ConditionFalse:
			refused := refusals(w)
			e.add(WorkNotApplied, fmt.Sprintf("the cluster refuses objects of ManifestWork %s/%s: %s", w.Namespace, w.Name, strings.Join(refused, "; ")),
				step("Remove what refuses them on the cluster: a quota, an admission policy, a missing right of OCM's work agent, or an object of the name that is another's",
					fmt.Sprintf("%s describe manifestwork -n %s %s", e.Kubectl, w.Namespace, w.Name)))
		case stale && !e.broken(clusterLink) && e.Now.Sub(w.CreationTimestamp.Time) > settles:
			e.add(WorkNotReported, fmt.Sprintf("OCM's work agent has not applied the present ManifestWork %s/%s (generation %d, applied %d)",
				w.Namespace, w.Name, w.Generation, c.ObservedGeneration), e.workAgentSteps()...)
		}
	}
}

// refusals returns the messages about the objects of a ManifestWork that the cluster has not applied.
func refusals(w *workv1.ManifestWork) []string {
	var all []string
	for _, m := range w.Status.ResourceStatus.Manifests {
		if c := conditionOf(m.Conditions, workv1.ManifestApplied); c.Status == metav1.ConditionFalse {
			name := m.ResourceMeta.Kind + " " + m.ResourceMeta.Name
			if m.ResourceMeta.Namespace != "" {
				name = m.ResourceMeta.Kind + " " + m.ResourceMeta.Namespace + "/" + m.ResourceMeta.Name
			}
			all = append(all, name+": "+c.Message)
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		all = append(all, conditionOf(w.Status.Conditions, workv1.WorkApplied).Message)
	}
	return all
}

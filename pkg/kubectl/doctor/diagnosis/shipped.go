package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// delivered looks whether the ManifestWorks are there, and whether OCM's work agent looks at them.
func delivered(e *examination) {
	if e.Managed != nil && !e.has(RegistrationAgentNotRunning) {
		e.workAgentRuns()
	}
	if e.AddOn == nil || e.deleting() || e.unread(Works) {
		return
	}
	namespace := e.Cluster
	if hosting := e.hosting(); hosting != "" {
		namespace = hosting // that of the agent
	}
	there := slices.ContainsFunc(e.Works, func(w *workv1.ManifestWork) bool { return w.Namespace == namespace })
	if !there && e.enabledFor() > settles && !e.has(NotConfigured) {
		e.add(WorkMissing, fmt.Sprintf("the controller has not shipped the agent: there is no ManifestWork of the add-on in the namespace %s. %s",
			namespace, e.condition(addonv1beta1.ManagedClusterAddOnManifestApplied).Message), e.controllerLog())
	}
	for _, w := range e.Works {
		if len(w.Status.Conditions) == 0 && w.DeletionTimestamp == nil && e.Now.Sub(w.CreationTimestamp.Time) > settles {
			e.add(WorkNotReported, fmt.Sprintf("ManifestWork %s/%s has no status %s after its creation: OCM's work agent on the cluster does not run, or does not reach the hub",
				w.Namespace, w.Name, e.ago(w.CreationTimestamp)), e.workAgentSteps()...)
		}
	}
}

func (e *examination) workAgentRuns() {
	for _, w := range e.Managed.OCM {
		if strings.HasSuffix(w.Deployment.Name, workAgent) && w.Deployment.Status.AvailableReplicas == 0 {
			e.add(WorkAgentNotRunning, e.notRunning(w), e.ocmSteps(w)...)
		}
	}
}

func (e *examination) workAgentSteps() []registration.Step {
	if e.Managed == nil {
		return e.lookThere()
	}
	return []registration.Step{e.ocmLog("Look at the work agent's log", workAgent)}
}

// applied looks whether the cluster has applied the ManifestWorks.
func applied(e *examination) {
	for _, w := range e.Works {
		c := conditionOf(w.Status.Conditions, workv1.WorkApplied)
		stale := c.Status == metav1.ConditionTrue && c.ObservedGeneration < w.Generation
		switch {
		case w.DeletionTimestamp != nil:
		case c.Status == metav1.ConditionFalse:
			if refused := e.refusals(w); len(refused) > 0 {
				message := strings.Join(refused, "; ")
				e.add(WorkNotApplied, fmt.Sprintf("the cluster refuses objects of ManifestWork %s/%s: %s", w.Namespace, w.Name, message),
					append(admissionSteps(message, e.namespace(), e.there),
						step("Remove what refuses them on the cluster: a quota, an admission policy, a missing right of OCM's work agent, or an object of the name that is another's",
							e.hub("describe", "manifestwork", "-n", w.Namespace, w.Name)))...)
			}
		case stale && !e.broken(clusterLink) && e.Now.Sub(written(w)) > settles:
			e.add(WorkNotReported, fmt.Sprintf("OCM's work agent has not applied the present ManifestWork %s/%s (generation %d, applied %d)",
				w.Namespace, w.Name, w.Generation, c.ObservedGeneration), e.workAgentSteps()...)
		}
	}
}

// written returns when the spec or the metadata of a ManifestWork was last written.
func written(w *workv1.ManifestWork) time.Time {
	last := w.CreationTimestamp.Time
	for _, entry := range w.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// maxRefusal bounds the message about one object, in bytes. That about an immutable field has the whole pod template.
const maxRefusal = 512

// refusals returns the messages about the objects of a ManifestWork that the cluster has not applied. It leaves the hook's Job
// out when it exists: OCM's work agent applies it again and fails, while the Job goes on.
func (e *examination) refusals(w *workv1.ManifestWork) []string {
	var all []string
	exists := false
	for _, m := range w.Status.ResourceStatus.Manifests {
		c := conditionOf(m.Conditions, workv1.ManifestApplied)
		if c.Status != metav1.ConditionFalse {
			continue
		}
		if namespace, name := e.hookWork(); w.Namespace == namespace && w.Name == name && m.ResourceMeta.Kind == "Job" &&
			strings.Contains(c.Message, "field is immutable") {
			exists = true
			continue
		}
		name := m.ResourceMeta.Name
		if m.ResourceMeta.Namespace != "" {
			name = m.ResourceMeta.Namespace + "/" + name
		}
		all = append(all, text.Shorten(m.ResourceMeta.Kind+" "+name+": "+c.Message, maxRefusal))
	}
	slices.Sort(all)
	if len(all) == 0 && !exists {
		all = append(all, text.Shorten(conditionOf(w.Status.Conditions, workv1.WorkApplied).Message, maxRefusal))
	}
	return all
}

// hookWork returns the namespace and the name of the pre-delete hook's ManifestWork, as addon-framework names it.
func (e *examination) hookWork() (namespace, name string) {
	if hosting := e.hosting(); hosting != "" {
		return hosting, "addon-" + manifests.AddonName + "-pre-delete-hosting-" + e.Cluster
	}
	return e.Cluster, "addon-" + manifests.AddonName + "-pre-delete"
}

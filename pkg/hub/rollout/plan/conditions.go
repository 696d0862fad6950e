package plan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/internal/text"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// Reasons of the condition Degraded, whose type is OCM's.
const (
	// ReasonAgentAvailable, with status False: the agent's Deployment is available.
	ReasonAgentAvailable = "AgentAvailable"
	// ReasonAgentNotCreated, with status True: its pod cannot be created, for example
	// because of a missing PriorityClass or a full quota.
	ReasonAgentNotCreated = "AgentNotCreated"
	// ReasonAgentNotAvailable, with status True: its pod is not ready, for example
	// because the image cannot be pulled.
	ReasonAgentNotAvailable = "AgentNotAvailable"
	// ReasonNotReported, with status Unknown: the cluster's work agent has not reported
	// it, for example because the hub has not accepted the cluster, or the cluster is not
	// available.
	ReasonNotReported = "NotReported"
)

// ConditionConfigurationValid is the type of the condition about the add-on's
// configuration.
const ConditionConfigurationValid = "ConfigurationValid"

// Reasons of the condition ConfigurationValid.
const (
	// ReasonAsExpected, with status True: the add-on uses all of it.
	ReasonAsExpected = "AsExpected"
	// ReasonPartlyIgnored, with status True: the add-on does not use parts of it, as is
	// normal where several add-ons share a config.
	ReasonPartlyIgnored = "PartlyIgnored"
	// ReasonPending, with status Unknown: OCM's rollout has not reached the cluster.
	ReasonPending = "Pending"
	// ReasonRefused, with status False: it is not applied.
	ReasonRefused = "Refused"
)

// ReasonAgentSilent is the reason of the condition ConfigMapsSynced, with status
// Unknown, while the agent does not renew its lease.
const ReasonAgentSilent = "AgentSilent"

// StartGrace is how long an agent may have no available pod before it is degraded, by
// the hub's clock. A start with an image pull takes less, and so does an upgrade.
const StartGrace = 30 * time.Second

// maxMessage bounds a condition's message, in bytes.
const maxMessage = 1024

// Inspection is the result of checking an add-on's configuration.
type Inspection struct {
	// Configured reports whether the add-on has an AddOnDeploymentConfig.
	Configured bool
	// Ignored are the parts of it that this add-on does not use.
	Ignored []string
	// Refused is why it is not applied, or nil.
	Refused error
	// Pending is why it is not applied yet, or empty.
	Pending string
}

// Conditions sets the add-on's conditions from the inspection and the state of the
// agent's Deployment. down is how long the agent has not been shipped, or has been shipped
// and not reported, or State.Down has held. Conditions returns the time after which to call
// it again though nothing changed, or zero.
//
// A new agent has StartGrace until the work agent reports that it is available, or why it
// cannot be created. Until then Conditions sets no Degraded, and no new ConfigurationValid
// unless the configuration is refused: both are written at once then, on every cluster on
// which the add-on is enabled.
func Conditions(addOn *addonv1beta1.ManagedClusterAddOn, inspection Inspection, state State, shipped bool, down time.Duration) time.Duration {
	if addOn.DeletionTimestamp != nil {
		return 0
	}
	conditions := &addOn.Status.Conditions
	starts := isNew(*conditions, state) && down < StartGrace
	switch valid := configurationValid(inspection); {
	case valid == nil:
		meta.RemoveStatusCondition(conditions, ConditionConfigurationValid)
	case !starts || inspection.Refused != nil || meta.FindStatusCondition(*conditions, ConditionConfigurationValid) != nil:
		meta.SetStatusCondition(conditions, *valid)
	}
	if silent := agentSilent(*conditions); silent != nil {
		meta.SetStatusCondition(conditions, *silent)
	}
	if starts {
		return StartGrace - down
	}
	if !shipped {
		return 0
	}
	if lost(addOn) {
		state = State{}
	}
	degraded, after := degraded(addOn.Namespace, state, down)
	if degraded != nil {
		meta.SetStatusCondition(conditions, *degraded)
	}
	return after
}

// isNew reports whether the agent may still be starting for the first time: no Degraded
// was ever set, and the state has nothing to set.
func isNew(conditions []metav1.Condition, state State) bool {
	settled := state.Reported() && (state.Available > 0 || state.FailureMessage != "")
	return !settled && meta.FindStatusCondition(conditions, addonv1beta1.ManagedClusterAddOnConditionDegraded) == nil
}

// leaseNotFound is the reason of Available=Unknown with which a reachable cluster
// reports that the agent has no lease yet.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/addon/lease_controller.go
const leaseNotFound = "ManagedClusterAddOnLeaseNotFound"

// lost reports whether OCM has lost the agent's cluster, so that the work agent's last
// report may be stale. In hosted mode Available is about the managed cluster, and the
// agent runs on another one.
func lost(addOn *addonv1beta1.ManagedClusterAddOn) bool {
	available := meta.FindStatusCondition(addOn.Status.Conditions, addonv1beta1.ManagedClusterAddOnConditionAvailable)
	return available != nil && available.Status == metav1.ConditionUnknown && available.Reason != leaseNotFound &&
		addOn.Annotations[addonv1beta1.HostingClusterNameAnnotationKey] == ""
}

// newReplicaSetAvailable is the reason of a Deployment's condition Progressing after a rollout. It stays when a pod ends later.
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#complete-deployment
const newReplicaSetAvailable = "NewReplicaSetAvailable"

// degraded returns the condition Degraded, or nil to keep the present one while the
// agent has StartGrace to become available. It returns the rest of that time.
func degraded(cluster string, state State, down time.Duration) (*metav1.Condition, time.Duration) {
	condition := func(status metav1.ConditionStatus, reason, format string, args ...any) *metav1.Condition {
		return &metav1.Condition{Type: addonv1beta1.ManagedClusterAddOnConditionDegraded, Status: status, Reason: reason,
			Message: text.Shorten(fmt.Sprintf(format, args...), maxMessage)}
	}
	where := fmt.Sprintf("Deployment %s/%s for cluster %s", state.Namespace, manifests.AgentDeployment, cluster)
	look := fmt.Sprintf("look at it there: kubectl describe deploy,rs,pod -n %s -l app.kubernetes.io/name=%s", state.Namespace, manifests.AgentDeployment)
	switch {
	case !state.Reported():
		return condition(metav1.ConditionUnknown, ReasonNotReported, "the work agent of cluster %s does not report the agent's Deployment: "+
			"is the cluster accepted, and available (kubectl get managedcluster %s)?", cluster, cluster), 0
	case state.FailureMessage != "" && state.Available == 0:
		return condition(metav1.ConditionTrue, ReasonAgentNotCreated, "%s cannot create its pod: %s", where, state.FailureMessage), 0
	case !state.Down():
		return condition(metav1.ConditionFalse, ReasonAgentAvailable, "%s is available", where), 0
	case down < StartGrace:
		return nil, StartGrace - down
	case state.Missing:
		return condition(metav1.ConditionTrue, ReasonAgentNotAvailable, "%s does not exist: OCM's work agent creates it again, or reports in the ManifestWork "+
			"why it cannot: kubectl describe manifestwork -n %s", where, cluster), 0
	}
	why := fmt.Sprintf(" (%s)", state.ProgressMessage)
	if state.ProgressReason == newReplicaSetAvailable {
		why = "" // that of an earlier rollout
	}
	return condition(metav1.ConditionTrue, ReasonAgentNotAvailable, "%s has no available pod%s: %s", where, why, look), 0
}

// configurationValid returns the condition about the configuration, or nil where the
// add-on has none.
func configurationValid(inspection Inspection) *metav1.Condition {
	condition := &metav1.Condition{Type: ConditionConfigurationValid, Status: metav1.ConditionTrue,
		Reason: ReasonAsExpected, Message: "the AddOnDeploymentConfig is used"}
	switch {
	case inspection.Refused != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, ReasonRefused
		condition.Message = text.Shorten(strings.Join(strings.Fields(inspection.Refused.Error()), " "), maxMessage)
	case inspection.Pending != "":
		condition.Status, condition.Reason = metav1.ConditionUnknown, ReasonPending
		condition.Message = text.Shorten(inspection.Pending, maxMessage)
	case len(inspection.Ignored) > 0:
		condition.Reason = ReasonPartlyIgnored
		condition.Message = text.Shorten("ignored, because this add-on does not use it: "+strings.Join(inspection.Ignored, "; "), maxMessage)
	case !inspection.Configured:
		return nil
	}
	return condition
}

// agentSilent returns the condition ConfigMapsSynced of an agent that reported Synced
// and no longer renews its lease, or nil. An agent that has reported since the add-on
// became unavailable is not silent, so its report stays.
func agentSilent(conditions []metav1.Condition) *metav1.Condition {
	synced := meta.FindStatusCondition(conditions, manifests.ConditionConfigMapsSynced)
	available := meta.FindStatusCondition(conditions, addonv1beta1.ManagedClusterAddOnConditionAvailable)
	if synced == nil || synced.Status != metav1.ConditionTrue || available == nil || available.Status == metav1.ConditionTrue ||
		!available.LastTransitionTime.After(synced.LastTransitionTime.Time) {
		return nil
	}
	return &metav1.Condition{Type: manifests.ConditionConfigMapsSynced, Status: metav1.ConditionUnknown, Reason: ReasonAgentSilent,
		Message: text.Shorten(fmt.Sprintf("the agent is silent (Available is %s: %s); its last report: %s",
			available.Status, available.Message, synced.Message), maxMessage)}
}

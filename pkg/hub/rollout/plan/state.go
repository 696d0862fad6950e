// Package plan decides what the controller reports about the agents: the state of an
// agent's Deployment from the ManifestWorks' status (StateOf), the conditions of the
// ManagedClusterAddOn (Conditions), and when OCM's rollout may go on (Hold, Releases).
// It is pure; package rollout reads, calls it, and writes. See docs/design.md#rollout.
package plan

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// State is the state of the agent's Deployment in the ManifestWorks' status.
type State struct {
	// Namespace is the Deployment's; empty means that the work agent has not reported
	// it.
	Namespace string
	// Missing reports whether the work agent found no Deployment, for example because a
	// user deleted it. The fields below are then zero.
	Missing bool
	// ConfigHash is the hash of the config with which the Deployment was rendered; empty
	// means none.
	ConfigHash string
	// Generation and ObservedGeneration are the Deployment's.
	Generation, ObservedGeneration int64
	// Replicas, Updated and Available count its pods.
	Replicas, Updated, Available int64
	// ProgressReason and ProgressMessage are from its condition Progressing.
	// FailureMessage is from its condition ReplicaFailure: why no pod can be created.
	ProgressReason, ProgressMessage, FailureMessage string
}

// StateOf returns the state of the agent's Deployment in the status of the works.
func StateOf(works []*workv1.ManifestWork) State {
	for _, work := range works {
		for i := range work.Status.ResourceStatus.Manifests {
			manifest := &work.Status.ResourceStatus.Manifests[i]
			resource := manifest.ResourceMeta
			if resource.Resource != "deployments" || resource.Name != manifests.AgentDeployment {
				continue
			}
			// The work agent keeps the values of a Deployment that is gone.
			if meta.IsStatusConditionFalse(manifest.Conditions, workv1.ManifestAvailable) {
				return State{Namespace: resource.Namespace, Missing: true}
			}
			if len(manifest.StatusFeedbacks.Values) > 0 {
				return stateOf(resource.Namespace, manifest.StatusFeedbacks.Values)
			}
		}
	}
	return State{}
}

func stateOf(namespace string, values []workv1.FeedbackValue) State {
	texts, numbers := map[string]string{}, map[string]int64{}
	for _, value := range values {
		if value.Value.String != nil {
			texts[value.Name] = *value.Value.String
		}
		if value.Value.Integer != nil {
			numbers[value.Name] = *value.Value.Integer
		}
	}
	return State{
		Namespace: namespace, ConfigHash: texts[feedbackConfigHash],
		Generation: numbers[feedbackGeneration], ObservedGeneration: numbers[feedbackObservedGeneration],
		Replicas: numbers[feedbackReplicas], Updated: numbers[feedbackUpdatedReplicas],
		Available:      numbers[feedbackAvailableReplicas],
		ProgressReason: texts[feedbackProgressReason], ProgressMessage: texts[feedbackProgressMessage],
		FailureMessage: texts[feedbackFailureMessage],
	}
}

// Reported reports whether the work agent has reported the Deployment.
func (s State) Reported() bool { return s.Namespace != "" }

// Down reports whether the work agent has reported that no pod is available.
func (s State) Down() bool { return s.Reported() && s.Available == 0 }

// RolledOut reports whether the agent runs with the config of this hash: the Deployment
// was rendered with it and observed, and every pod is updated and available. kubectl
// rollout status has the same criteria.
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go
func (s State) RolledOut(hash string) bool {
	return s.Reported() && s.ConfigHash == hash && s.ObservedGeneration == s.Generation &&
		s.Updated > 0 && s.Updated == s.Replicas && s.Available == s.Updated
}

// applied reports whether the work agent has applied the present generation of the
// work.
func applied(work *workv1.ManifestWork) bool {
	condition := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == work.Generation
}

// Names of the feedback values of the agent's Deployment in the ManifestWork's status.
const (
	feedbackConfigHash         = "configHash"
	feedbackGeneration         = "generation"
	feedbackObservedGeneration = "observedGeneration"
	feedbackReplicas           = "replicas"
	feedbackUpdatedReplicas    = "updatedReplicas"
	feedbackAvailableReplicas  = "availableReplicas"
	feedbackProgressReason     = "progressReason"
	feedbackProgressMessage    = "progressMessage"
	feedbackFailureMessage     = "failureMessage"
)

// Feedback returns the option that makes the work agent report the Deployment's state.
// It reports from a watch; by default it would read the Deployment once a minute.
// https://open-cluster-management.io/docs/concepts/work-distribution/manifestwork/#fetching-resource-status
func Feedback() workv1.ManifestConfigOption {
	condition := func(kind, field string) string {
		return `.status.conditions[?(@.type=="` + kind + `")].` + field
	}
	return workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{
			Group: "apps", Resource: "deployments", Name: manifests.AgentDeployment, Namespace: "*"},
		FeedbackScrapeType: workv1.FeedbackWatchType,
		FeedbackRules: []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{
			{Name: feedbackConfigHash, Path: `.metadata.annotations.helloworld\.open-cluster-management\.io/config-hash`},
			{Name: feedbackGeneration, Path: ".metadata.generation"},
			{Name: feedbackObservedGeneration, Path: ".status.observedGeneration"},
			{Name: feedbackReplicas, Path: ".status.replicas"},
			{Name: feedbackUpdatedReplicas, Path: ".status.updatedReplicas"},
			{Name: feedbackAvailableReplicas, Path: ".status.availableReplicas"},
			{Name: feedbackProgressReason, Path: condition("Progressing", "reason")},
			{Name: feedbackProgressMessage, Path: condition("Progressing", "message")},
			{Name: feedbackFailureMessage, Path: condition("ReplicaFailure", "message")},
		}}},
	}
}

package rollout

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// State is what the status of the ManifestWorks has of the agent's Deployment.
type State struct {
	// Namespace is that of the Deployment; empty means that the work agent has
	// not reported on it.
	Namespace string
	// Missing reports that the work agent does not find the Deployment, for example
	// because somebody deleted it. The other fields are then zero.
	Missing bool
	// ConfigHash is that of the config with which the Deployment was rendered;
	// empty means none.
	ConfigHash string
	// Generation and ObservedGeneration are those of the Deployment.
	Generation, ObservedGeneration int64
	// Replicas, Updated and Available count its pods.
	Replicas, Updated, Available int64
	// ProgressReason and ProgressMessage are those of its condition Progressing,
	// FailureMessage that of ReplicaFailure: why a pod cannot be created.
	ProgressReason, ProgressMessage, FailureMessage string
}

// StateOf returns the state that the works' status has.
func StateOf(works []*workv1.ManifestWork) State {
	for _, work := range works {
		for i := range work.Status.ResourceStatus.Manifests {
			manifest := &work.Status.ResourceStatus.Manifests[i]
			resource := manifest.ResourceMeta
			if resource.Resource != "deployments" || resource.Name != manifests.AgentDeployment {
				continue
			}
			// The work agent leaves the values of before.
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

// Down reports whether the agent has no available pod, as far as is known.
func (s State) Down() bool { return s.Namespace != "" && s.Available == 0 }

// RolledOut reports whether the agent runs with the config of this hash: the
// Deployment was rendered with it, its controller has seen that, and every pod is
// one of the new ones and available. kubectl rollout status asks the same.
func (s State) RolledOut(hash string) bool {
	return s.Namespace != "" && s.ConfigHash == hash && s.ObservedGeneration == s.Generation &&
		s.Updated > 0 && s.Updated == s.Replicas && s.Available == s.Updated
}

// applied reports whether the work agent has applied the work as it is now.
func applied(work *workv1.ManifestWork) bool {
	condition := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == work.Generation
}

package rollout

import (
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Names of the values that the ManifestWork's status has of the agent's
// Deployment.
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

// Feedback asks the work agent for the state of the agent's Deployment. It
// watches the Deployment; by default it would look at it once a minute.
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

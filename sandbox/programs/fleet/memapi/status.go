package memapi

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deploymentStatus returns the status of a Deployment as its controller writes it: while
// the pod is not ready, when it is, and while a rolling update to a broken image is stuck.
func deploymentStatus(d *appsv1.Deployment, replicas int32, w *workload, now metav1.Time) *appsv1.DeploymentStatus {
	status := &appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas, UnavailableReplicas: replicas,
		Conditions: d.Status.Conditions,
	}
	rolling := w.stuck && w.pod != nil
	if w.ready || rolling {
		status.ReadyReplicas, status.AvailableReplicas, status.UnavailableReplicas = replicas, replicas, 0
	}
	if rolling {
		status.Replicas, status.UpdatedReplicas, status.UnavailableReplicas = replicas+1, 1, 1
	}
	available := condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if status.AvailableReplicas < replicas {
		available = condition(appsv1.DeploymentAvailable, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
		available.Status = corev1.ConditionFalse
	}
	progressing := condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable", "The Deployment has successfully progressed.")
	if !w.ready && replicas > 0 {
		progressing = condition(appsv1.DeploymentProgressing, "ReplicaSetUpdated", "The Deployment is progressing.")
	}
	setCondition(status, available, now)
	setCondition(status, progressing, now)
	return status
}

func condition(what appsv1.DeploymentConditionType, reason, message string) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{Type: what, Status: corev1.ConditionTrue, Reason: reason, Message: message}
}

// setCondition sets a condition and keeps its times if it is as before.
func setCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition, now metav1.Time) {
	c.LastUpdateTime, c.LastTransitionTime = now, now
	for i, old := range status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
			if old.Reason == c.Reason {
				c.LastUpdateTime = old.LastUpdateTime
			}
		}
		status.Conditions[i] = c
		return
	}
	status.Conditions = append(status.Conditions, c)
}

// finished reports whether a Job is complete or has failed.
func finished(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// jobStatus returns the status of a Job that has not finished yet.
func jobStatus(j *batchv1.Job, w *workload, now metav1.Time) *batchv1.JobStatus {
	status := &batchv1.JobStatus{StartTime: &w.started, Failed: w.failed, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	limit := int32(jobBackoffLimit)
	if j.Spec.BackoffLimit != nil {
		limit = *j.Spec.BackoffLimit
	}
	add := func(what batchv1.JobConditionType, reason, message string) {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{
			Type: what, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now})
	}
	switch {
	case w.ready:
		status.Succeeded, status.CompletionTime = 1, &now
		message := "Reached expected number of succeeded pods"
		add(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, message)
		add(batchv1.JobComplete, batchv1.JobReasonCompletionsReached, message)
	case w.failed > limit:
		message := fmt.Sprintf("Job has reached the specified backoff limit %d", limit)
		add(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, message)
		add(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, message)
	case w.pod != nil:
		ready := int32(1)
		status.Active, status.Ready = 1, &ready
	}
	return status
}

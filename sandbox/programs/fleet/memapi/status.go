package memapi

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deploymentStatus returns the status of a Deployment as its controller writes it in each
// state of a rollout, and while a rolling update to a broken image is stuck.
func deploymentStatus(d *appsv1.Deployment, replicas int32, w *workload, now metav1.Time) *appsv1.DeploymentStatus {
	total, updated, ready := w.replicas(replicas)
	status := &appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: total, UpdatedReplicas: updated,
		ReadyReplicas: ready, AvailableReplicas: ready, UnavailableReplicas: total - ready,
		Conditions: d.Status.Conditions,
	}
	available := condition(appsv1.DeploymentAvailable, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	if ready < replicas {
		available = condition(appsv1.DeploymentAvailable, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
		available.Status = corev1.ConditionFalse
	}
	setCondition(status, available, now)
	setCondition(status, w.progressing(replicas), now)
	return status
}

// replicas returns how many pods of a Deployment there are, have the present template, and
// are ready.
func (w *workload) replicas(wanted int32) (total, updated, ready int32) {
	old := w.pod != nil && (w.stuck || w.state != starting)
	switch {
	case wanted == 0:
		return 0, 0, 0
	case w.ready:
		return wanted, wanted, wanted
	case old && w.state == starting:
		return wanted + 1, 1, wanted
	case old:
		return wanted, 0, wanted
	case w.state == starting:
		return wanted, wanted, 0
	default:
		return 0, 0, 0
	}
}

func (w *workload) progressing(wanted int32) appsv1.DeploymentCondition {
	switch {
	case wanted == 0 || w.ready:
		return condition(appsv1.DeploymentProgressing, "NewReplicaSetAvailable", "The Deployment has successfully progressed.")
	case w.state == created:
		return condition(appsv1.DeploymentProgressing, "NewReplicaSetCreated", "Created new replica set.")
	default:
		return condition(appsv1.DeploymentProgressing, "ReplicaSetUpdated", "The Deployment is progressing.")
	}
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

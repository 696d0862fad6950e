package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
	"open-cluster-management.io/helloworld-addon/test/bench/subject"
	"open-cluster-management.io/helloworld-addon/test/bench/track"
)

const (
	// workAgent would bring the agent's Deployment back to what it should be.
	workAgent = sandbox.Cluster + "/work-agent"
	// scaleTimeout bounds the wait for the agent's pod to go.
	scaleTimeout = 2 * time.Minute
	// scalePeriod is how often it is looked at.
	scalePeriod = 100 * time.Millisecond
)

// restart changes and deletes while the agent is down, and times how long it
// takes from the demand for a new pod until both sides agree.
func (m *measurement) restart(ctx context.Context) (err error) {
	if err := m.fill(ctx, "missed", m.Deleted); err != nil {
		return err
	}
	m.say("restart: %s changed and %s deleted while the agent is down", report.Count(m.Others), report.Count(m.Deleted))
	if err := m.sandbox.Switch(ctx, "stop", workAgent); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.sandbox.Switch(ctx, "start", workAgent)) }()
	if err := m.down(ctx); err != nil {
		return err
	}
	marks, err := m.hub.change(ctx, names("other", 0, m.Others)...)
	if err != nil {
		return err
	}
	gone, err := m.hub.remove(ctx, names("missed", 0, m.Deleted)...)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := m.scale(ctx, 1); err != nil {
		return err
	}
	const metric = "restart until in sync"
	outcome, err := m.copies.Await(ctx, marks, m.Limit)
	if err != nil {
		return err
	}
	m.add(metric, report.Count(m.Others)+" changed", "", "s", since(outcome, started), shortfall(outcome, m.Limit))
	if outcome, err = m.copies.Await(ctx, gone, m.Patience); err != nil {
		return err
	}
	m.add(metric, report.Count(m.Deleted)+" deleted", "", "s", since(outcome, started), shortfall(outcome, m.Patience))
	return nil
}

// since is how long it took; nothing when it was not all done.
func since(outcome track.Outcome, started time.Time) float64 {
	if !outcome.Done() {
		return math.NaN()
	}
	return max(0, outcome.Last.Sub(started).Seconds())
}

// down stops the agent and waits until its pod is gone.
func (m *measurement) down(ctx context.Context) error {
	if err := m.scale(ctx, 0); err != nil {
		return err
	}
	deployments := m.sandbox.Managed.AppsV1().Deployments(subject.Namespace)
	deployment, err := deployments.Get(ctx, subject.Deployment, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the agent's Deployment: %w", err)
	}
	selector := metav1.FormatLabelSelector(deployment.Spec.Selector)
	err = wait.PollUntilContextTimeout(ctx, scalePeriod, scaleTimeout, true, func(ctx context.Context) (bool, error) {
		pods, err := m.sandbox.Managed.CoreV1().Pods(subject.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err == nil && len(pods.Items) == 0, err
	})
	if err != nil {
		return fmt.Errorf("wait for the agent's pod to go: %w", err)
	}
	return nil
}

func (m *measurement) scale(ctx context.Context, replicas int32) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := m.sandbox.Managed.AppsV1().Deployments(subject.Namespace).UpdateScale(ctx, subject.Deployment, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: subject.Deployment, Namespace: subject.Namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("scale the agent's Deployment to %d: %w", replicas, err)
	}
	return nil
}

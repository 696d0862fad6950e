//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func (c *cluster) agent(ctx context.Context) (*appsv1.Deployment, error) {
	return c.kube.AppsV1().Deployments(c.installNamespace).Get(ctx, agentDeployment, metav1.GetOptions{})
}

func (c *cluster) agentAvailable(ctx context.Context) error {
	d, err := c.agent(ctx)
	if err != nil {
		return err
	}
	return deploymentAvailable(d)
}

// deploymentAvailable is nil when the current generation is rolled out.
func deploymentAvailable(d *appsv1.Deployment) error {
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.UpdatedReplicas != *d.Spec.Replicas ||
		s.AvailableReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
		return observation{fmt.Errorf("Deployment %s: %d wanted, %d updated, %d available, %d in all (generation %d, observed %d)",
			d.Name, *d.Spec.Replicas, s.UpdatedReplicas, s.AvailableReplicas, s.Replicas, d.Generation, s.ObservedGeneration)}
	}
	return nil
}

func (c *cluster) secretIssued(ctx context.Context) error {
	_, err := c.hubCredentials(ctx)
	return err
}

// hubCredentials is the agent's secret, complete: with a token, or with a
// certificate and its key.
func (c *cluster) hubCredentials(ctx context.Context) (*corev1.Secret, error) {
	secret, err := c.kube.CoreV1().Secrets(c.installNamespace).Get(ctx, agentSecret, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	keys := []string{"kubeconfig", corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
	if len(secret.Data["token"]) > 0 {
		keys = keys[:1]
	}
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			return nil, fmt.Errorf("secret %s has no %s yet", agentSecret, key)
		}
	}
	return secret, nil
}

// agentPods are the agent's pods that are not on their way out.
func (c *cluster) agentPods(ctx context.Context) ([]corev1.Pod, error) {
	d, err := c.agent(ctx)
	if err != nil {
		return nil, err
	}
	return livePods(ctx, c.apiServer, d)
}

// livePods are the pods of a Deployment that have no deletion timestamp.
func livePods(ctx context.Context, api apiServer, d *appsv1.Deployment) ([]corev1.Pod, error) {
	selector := labels.SelectorFromSet(d.Spec.Selector.MatchLabels).String()
	list, err := api.kube.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func (c *cluster) agentGone(ctx context.Context) error {
	ns, kube := c.installNamespace, c.kube
	var errs []error
	add := func(what string, err error) { errs = append(errs, gone(what, err)) }

	_, err := kube.AppsV1().Deployments(ns).Get(ctx, agentDeployment, metav1.GetOptions{})
	add("Deployment "+agentDeployment, err)
	_, err = kube.CoreV1().ServiceAccounts(ns).Get(ctx, agentServiceAccount, metav1.GetOptions{})
	add("ServiceAccount "+agentServiceAccount, err)
	_, err = kube.RbacV1().RoleBindings(ns).Get(ctx, agentBinding, metav1.GetOptions{})
	add("RoleBinding "+agentBinding, err)
	_, err = kube.RbacV1().RoleBindings(ns).Get(ctx, agentEventsBinding, metav1.GetOptions{})
	add("RoleBinding "+agentEventsBinding, err)
	_, err = kube.CoreV1().Secrets(ns).Get(ctx, agentSecret, metav1.GetOptions{})
	add("Secret "+agentSecret, err)

	pods, err := kube.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].Name, agentDeployment+"-") {
			errs = append(errs, fmt.Errorf("pod %s is still there", pods.Items[i].Name))
		}
	}
	return errors.Join(errs...)
}

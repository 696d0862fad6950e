package node

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// requestTimeout limits each request to the API server.
const requestTimeout = 10 * time.Second

// tokens holds the service account tokens of one pod.
type tokens struct {
	client kubernetes.Interface
	have   map[plan.TokenRequest]plan.Token
}

// sync requests every token that is missing or due for renewal. It returns the time
// of the next renewal, zero if the pod needs no token. A token that cannot be renewed
// stays in use.
func (t *tokens) sync(ctx context.Context, pod *corev1.Pod, now time.Time) (next time.Time, err error) {
	for _, request := range plan.TokenRequests(&pod.Spec) {
		known, ok := t.have[request]
		if !ok || !now.Before(known.RefreshAt()) {
			fresh, e := t.request(ctx, pod, request, now)
			if e != nil {
				err = e
				continue
			}
			known = fresh
			t.have[request] = fresh
		}
		if due := known.RefreshAt(); next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next, err
}

func (t *tokens) request(ctx context.Context, pod *corev1.Pod, r plan.TokenRequest, now time.Time) (plan.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &r.Seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		},
	}}
	if r.Audience != "" {
		request.Spec.Audiences = []string{r.Audience}
	}
	account := pod.Spec.ServiceAccountName
	got, err := t.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return plan.Token{}, fmt.Errorf("request a token of service account %s/%s: %w", pod.Namespace, account, err)
	}
	return plan.Token{Value: got.Status.Token, Issued: now, Expires: got.Status.ExpirationTimestamp.Time}, nil
}

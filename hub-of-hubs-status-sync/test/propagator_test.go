//go:build postgres

package hubofhubs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer"
)

// TestPropagator: a policy propagator that writes the status of policies is found at the start of the sync. While the two
// fight, an event on the policy names the propagator, and the sync writes less and less often.
func TestPropagator(t *testing.T) {
	const manager = "governance-policy-propagator"
	w := newWorld(t)
	labels := map[string]string{"component": "ocm-policy-propagator"}
	w.createForTest(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: manager, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: manager, Image: "quay.io/open-cluster-management/" + manager + ":v0.16.0"}}},
			},
		},
	})
	id := w.policy("policy")
	w.comply(id, "hub1", "a", "non_compliant")
	w.sync(func(o *syncer.Options) { o.PodNamespace = ownNamespace })
	w.eventually("the propagator is found", func() error {
		if w.metric("policy_propagator_writes_status", nil) != 1 {
			return errors.New("not yet")
		}
		return nil
	})
	w.converge()

	before := w.failures(status.KindPolicy, "contested")
	propagate := w.propagator(manager)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		propagate()
	}
	// The waits are 0.1, 0.2, 0.4, … 12.8 s: within 20 s at most 8 contested writes.
	if contested := w.failures(status.KindPolicy, "contested") - before; contested < 2 || contested > 8 {
		t.Errorf("%v contested writes in 20 s", contested)
	}
	w.eventually("an event names the propagator", func() error {
		list := &eventsv1.EventList{}
		w.must(w.client.List(w.Context(), list, client.InNamespace(w.namespace)))
		for _, event := range list.Items {
			if event.Reason == "StatusContested" && event.Regarding.Kind == "Policy" && event.Regarding.Name == "policy" &&
				strings.HasPrefix(event.Note, manager+" changes the status") {
				return nil
			}
		}
		return fmt.Errorf("%d other events: %+v", len(list.Items), list.Items)
	})
	w.converge()
}

// propagator returns a function that writes the policy's status as the policy propagator does, unless it has it already: on
// a global hub no cluster has a copy of the policy.
func (w *world) propagator(manager string) func() {
	return func() {
		w.Helper()
		policy, err := w.get(entryOf(status.KindPolicy).Object, w.namespace, "policy")
		w.must(err)
		if current, _ := policy.Object["status"].(map[string]any); current["status"] == nil {
			return
		}
		policy.Object["status"] = map[string]any{"placement": []any{map[string]any{"placementBinding": "binding"}}}
		if err := w.client.Status().Update(w.Context(), policy, client.FieldOwner(manager)); !apierrors.IsConflict(err) {
			w.must(err)
		}
	}
}

package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/diagnosis"
)

// Examination is the diagnosis of one cluster, by what the hub has, and the parts of that which a person looks at.
type Examination struct {
	diagnosis.Diagnosis
	// Conditions are those of the ManagedClusterAddOn.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// NotSynced are the ConfigMaps that the agent reports in another state than Synced.
	NotSynced []v1alpha1.MirroredConfigMap `json:"notSynced,omitempty"`
	// Events are those about the cluster's ConfigMaps on the hub, the latest first.
	Events []Event `json:"events,omitempty"`
}

// Event is what happened to a ConfigMap.
type Event struct {
	Time    metav1.Time `json:"time"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Object  string      `json:"object"`
	Message string      `json:"message"`
}

// Examine asks the hub of config about one cluster. It reads no other cluster's objects, but those of its hosting cluster.
func Examine(ctx context.Context, config genericclioptions.RESTClientGetter, cluster string, now time.Time) (*Examination, error) {
	restConfig, err := config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	hub, err := newHub(restConfig)
	if err != nil {
		return nil, err
	}
	hub.flags = flagsOf(config)
	all, err := hub.gather(ctx, []string{cluster}, now)
	if err != nil {
		return nil, fmt.Errorf("ask about cluster %s: %w", cluster, err)
	}
	facts := all[0]
	examination := &Examination{Diagnosis: diagnosis.Examine(facts)}
	if facts.AddOn != nil {
		examination.Conditions = facts.AddOn.Status.Conditions
	}
	if facts.Mirror != nil && facts.Mirror.Status != nil {
		examination.NotSynced = slices.DeleteFunc(slices.Clone(facts.Mirror.Status.ConfigMaps), func(c v1alpha1.MirroredConfigMap) bool {
			return c.State == v1alpha1.MirrorSynced
		})
	}
	for _, e := range slices.Backward(facts.Events) {
		examination.Events = append(examination.Events, eventOf(e))
	}
	return examination, nil
}

func eventOf(e corev1.Event) Event {
	return Event{Time: metav1.NewTime(lastSeen(e)), Type: e.Type, Reason: e.Reason, Object: e.InvolvedObject.Kind + " " + e.InvolvedObject.Name, Message: e.Message}
}

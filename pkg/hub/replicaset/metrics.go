package replicaset

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// metrics are the controller's own metrics.
type metrics struct {
	states   *k8smetrics.GaugeVec
	duration *k8smetrics.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		states: k8smetrics.NewGaugeVec(&k8smetrics.GaugeOpts{
			Name: "helloworld_replicaset_clusters", StabilityLevel: k8smetrics.ALPHA,
			Help: "Clusters of a ConfigMapReplicaSet by state: total, updated, synced, failed or timed_out.",
		}, []string{"namespace", "name", "state"}),
		duration: k8smetrics.NewHistogram(&k8smetrics.HistogramOpts{
			Name: "helloworld_replicaset_rollout_duration_seconds", StabilityLevel: k8smetrics.ALPHA,
			Help:    "Time from the start of a rollout until every cluster reported it as synced.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600},
		}),
	}
}

// register makes the metrics part of what the program serves.
func (m *metrics) register() { legacyregistry.MustRegister(m.states, m.duration) }

// clusters sets the numbers of a set.
func (m *metrics) clusters(set *v1alpha1.ConfigMapReplicaSet, s v1alpha1.Summary) {
	for state, n := range map[string]int32{"total": s.Total, "updated": s.Updated, "synced": s.Synced, "failed": s.Failed, "timed_out": s.TimedOut} {
		m.states.WithLabelValues(set.Namespace, set.Name, state).Set(float64(n))
	}
}

// forget drops the numbers of a set that is gone.
func (m *metrics) forget(set types.NamespacedName) {
	for _, state := range []string{"total", "updated", "synced", "failed", "timed_out"} {
		m.states.Delete(map[string]string{"namespace": set.Namespace, "name": set.Name, "state": state})
	}
}

// rolledOut observes a rollout that has just ended. set has the status before.
func (m *metrics) rolledOut(set *v1alpha1.ConfigMapReplicaSet, now v1alpha1.ConfigMapReplicaSetStatus) {
	if took, ended := rolloutTook(set.Status.Conditions, now.Conditions); ended {
		m.duration.Observe(took.Seconds())
	}
}

// rolloutTook reports whether RolledOut has become True after it was False, and returns how long it was False.
func rolloutTook(before, now []metav1.Condition) (time.Duration, bool) {
	was, is := meta.FindStatusCondition(before, v1alpha1.ConditionRolledOut), meta.FindStatusCondition(now, v1alpha1.ConditionRolledOut)
	if was == nil || is == nil || was.Status != metav1.ConditionFalse || is.Status != metav1.ConditionTrue {
		return 0, false
	}
	return is.LastTransitionTime.Sub(was.LastTransitionTime.Time), true
}

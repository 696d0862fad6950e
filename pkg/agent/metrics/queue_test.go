package metrics

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/hubclient/credentials"
	"open-cluster-management.io/helloworld-addon/pkg/agent/mirror/plan"
)

// TestDepthIsOfTheQueueInUse: a mirror that ends before both sides are listed leaves
// names in its queue. They do not count for the queue of the next mirror.
func TestDepthIsOfTheQueueInUse(t *testing.T) {
	m := New(clock.RealClock{}, Sources{Summary: func() *plan.Summary { return nil },
		Hub: func() credentials.Status { return credentials.Status{} }})
	queue := func(names ...string) {
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "mirror", MetricsProvider: m.Queue()})
		for _, name := range names {
			q.Add(name)
		}
		q.ShutDown()
	}
	queue("a", "b")
	if depth := m.depth(t); depth != 2 {
		t.Errorf("the depth is %v with two names in the queue", depth)
	}
	queue("c")
	if depth := m.depth(t); depth != 1 {
		t.Errorf("the depth is %v with one name in the queue", depth)
	}
}

// depth returns the depth on /metrics.
func (m *Metrics) depth(t *testing.T) float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "workqueue_depth" && len(family.GetMetric()) == 1 {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no workqueue_depth")
	return 0
}

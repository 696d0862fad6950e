package controller

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"open-cluster-management.io/addon-framework/pkg/index"
)

// urgentInRow is how many urgent keys a queue returns before it returns one of the others. It bounds how long the others wait
// while there are always urgent keys, for example when the ManifestWorks of many clusters cannot be created.
const urgentInRow = 8

// newQueue returns a queue that returns urgent keys before the others. name is that of its metrics and must be
// unique. urgent is called under the queue's lock when a key begins to wait: in Add, or in Done when the key
// was added while it was reconciled. It must not use the queue.
func newQueue(name string, urgent func(key string) bool) workqueue.TypedDelayingInterface[string] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: name,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
			Name:  name,
			Queue: &urgentFirst{isUrgent: urgent, urgent: workqueue.DefaultQueue[string](), others: workqueue.DefaultQueue[string]()},
		}),
	})
}

// urgentFirst is a workqueue.Queue that returns urgent keys before the others, but one of the others after each
// urgentInRow of them. Urgent keys keep their order, and so do the others.
type urgentFirst struct {
	isUrgent       func(key string) bool
	urgent, others workqueue.Queue[string]
	// inRow is how many urgent keys were returned since the last one of the others.
	inRow int
}

// Touch keeps the place of a key that is added again, also when it is urgent now: that is rare, because only a ManifestWork
// that is deleted makes a key urgent.
func (*urgentFirst) Touch(string) {}

// Push adds a key.
func (u *urgentFirst) Push(key string) {
	if u.isUrgent(key) {
		u.urgent.Push(key)
		return
	}
	u.others.Push(key)
}

// Len returns the number of keys.
func (u *urgentFirst) Len() int { return u.urgent.Len() + u.others.Len() }

// Pop removes the next key and returns it.
func (u *urgentFirst) Pop() string {
	if u.urgent.Len() > 0 && (u.inRow < urgentInRow || u.others.Len() == 0) {
		u.inRow++
		return u.urgent.Pop()
	}
	u.inRow = 0
	return u.others.Pop()
}

// withoutWork returns a function that reports whether the add-on CLUSTER/ADD-ON has no ManifestWork with its agent, neither on
// its cluster nor, in hosted mode, on its hosting cluster.
func withoutWork(works cache.Indexer) func(key string) bool {
	return func(key string) bool {
		for _, name := range []string{index.ManifestWorkByAddon, index.ManifestWorkByHostedAddon} {
			if keys, err := works.IndexKeys(name, key); err != nil || len(keys) > 0 {
				return false
			}
		}
		return true
	}
}

package syncer

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
	"open-cluster-management.io/helloworld-addon/internal/retry"
)

// keys connect the feed to the syncers, in one direction: the feed requests keys
// and publishes which leaf hubs are stale; each kind's syncer takes the keys from
// its queue. Neither calls the other.
type keys struct {
	queues     map[status.Kind]*queue
	staleAfter time.Duration
	// ready is closed by the first publish: from then on the syncers may write.
	ready chan struct{}

	mu sync.Mutex
	// stale are the stale leaf hubs with their last heartbeat, as last published;
	// nil before the first publish.
	stale map[string]time.Time
	// doubted are the keys whose rows were read while other hubs were stale than
	// those last published. The next publish requests them.
	doubted map[status.Key]bool
}

func newKeys(clock clock.WithTicker, staleAfter time.Duration, kinds ...status.Kind) *keys {
	k := &keys{queues: map[status.Kind]*queue{}, staleAfter: staleAfter, ready: make(chan struct{}), doubted: map[status.Key]bool{}}
	for _, kind := range kinds {
		k.queues[kind] = newQueue(kind, clock)
	}
	return k
}

// request requests a sync of a key because of a row's change at changedAt, zero if
// no row is known to have changed.
func (k *keys) request(key status.Key, changedAt time.Time) {
	if queue, found := k.queues[key.Kind]; found {
		queue.request(key, changedAt)
	}
}

// endRound tells all kinds that the feed has requested every key of the database
// once.
func (k *keys) endRound() {
	for _, queue := range k.queues {
		queue.endRound()
	}
}

// idle reports whether all queues are idle, and when the last sync that the feed requested ended.
func (k *keys) idle() (ended time.Time, idle bool) {
	idle = true
	for _, queue := range k.queues {
		last, empty := queue.idle()
		idle = idle && empty
		if last.After(ended) {
			ended = last
		}
	}
	return ended, idle
}

// publish publishes which leaf hubs are stale, and requests the doubted keys. It
// returns the stale hubs, and those that became stale, recovered, or have another
// last heartbeat; the first call returns none of the latter.
func (k *keys) publish(heartbeats status.Heartbeats) (stale map[string]time.Time, changed []string) {
	k.mu.Lock()
	before, doubted := k.stale, k.doubted
	stale = plan.StaleHubs(heartbeats, k.staleAfter, before)
	k.stale, k.doubted = stale, map[status.Key]bool{}
	k.mu.Unlock()
	if before == nil {
		close(k.ready)
		return stale, nil
	}
	for key := range doubted {
		k.request(key, time.Time{})
	}
	return stale, plan.ChangedHubs(before, stale)
}

// staleBy returns the leaf hubs that are stale by the heartbeats that were read
// together with an object's rows. If the feed has published another state of one of
// the object's hubs, the key is doubted. Without that, a heartbeat that was late
// only between two looks of the feed would mark the object as stale until the next
// scan.
func (k *keys) staleBy(rows status.Object, heartbeats status.Heartbeats) map[string]time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	stale := plan.StaleHubs(heartbeats, k.staleAfter, k.stale)
	if plan.HasRowsOf(rows, plan.ChangedHubs(k.stale, stale)) {
		k.doubted[rows.Key] = true
	}
	return stale
}

// queue is the work queue of one kind, with the progress of its keys.
type queue struct {
	workqueue.TypedRateLimitingInterface[status.Key]
	clock clock.Clock
	// rounds notifies the kind's syncer of the end of a round.
	rounds retry.Signal

	mu sync.Mutex
	// working is set when a worker has begun its first sync; ended is when the last one that the feed requested
	// ended.
	working bool
	ended   time.Time
	// progress has an entry for each key that is queued, running, or has something
	// to remember.
	progress map[status.Key]plan.Progress
	// shortened is the number of keys whose progress is Shortened.
	shortened int
}

func newQueue(kind status.Kind, clock clock.WithTicker) *queue {
	return &queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[status.Key](plan.MinRetry, plan.MaxRetry),
			workqueue.TypedRateLimitingQueueConfig[status.Key]{Name: string(kind), Clock: clock}),
		clock: clock, rounds: retry.NewSignal(), progress: map[status.Key]plan.Progress{},
	}
}

// update changes the progress of a key, and removes it if nothing is left.
func (q *queue) update(key status.Key, change func(*plan.Progress)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.progress[key]
	if p.Shortened {
		q.shortened--
	}
	change(&p)
	if p.Shortened {
		q.shortened++
	}
	if p == (plan.Progress{}) {
		delete(q.progress, key)
		return
	}
	q.progress[key] = p
}

// request queues a key for the feed.
func (q *queue) request(key status.Key, changedAt time.Time) {
	var wait time.Duration
	q.update(key, func(p *plan.Progress) { wait = p.Request(changedAt, q.clock.Now()) })
	q.AddAfter(key, wait)
}

// touch queues a key because another writer changed one of its objects.
func (q *queue) touch(key status.Key, cause plan.Cause) {
	var wait time.Duration
	q.update(key, func(p *plan.Progress) { wait = p.Touch(cause, q.clock.Now()) })
	q.AddAfter(key, wait)
}

// wait returns how long the key's pending sync has to wait; see plan.Progress.Wait.
func (q *queue) wait(key status.Key) (wait time.Duration) {
	q.update(key, func(p *plan.Progress) { wait = p.Wait(q.clock.Now()) })
	return wait
}

// begin returns the work of the key's sync that begins now.
func (q *queue) begin(key status.Key) (work plan.Work) {
	q.update(key, func(p *plan.Progress) {
		q.working = true
		work = p.Begin(q.clock.Now())
	})
	return work
}

// end records the end of the key's sync.
func (q *queue) end(key status.Key, took time.Duration, err error) {
	q.update(key, func(p *plan.Progress) {
		now := q.clock.Now()
		if p.Running.Cause == plan.Requested {
			q.ended = now
		}
		p.End(now, took, err)
	})
}

// idle reports whether no key is ready or running, and when the last sync that the feed requested ended. Keys that wait,
// for example after a failure, do not count, nor do those of a kind that the hub does not serve.
func (q *queue) idle() (ended time.Time, idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.working {
		return time.Time{}, true
	}
	for _, p := range q.progress {
		if p.Running.Cause != plan.NoCause {
			return q.ended, false
		}
	}
	return q.ended, q.Len() == 0
}

// wrote records that the key's sync wrote an object; see plan.Progress.Wrote.
func (q *queue) wrote(key status.Key) (contested, detected bool) {
	q.update(key, func(p *plan.Progress) { contested, detected = p.Wrote(q.clock.Now()) })
	return contested, detected
}

// forget drops what is known of a key whose objects are gone.
func (q *queue) forget(key status.Key) { q.update(key, (*plan.Progress).Forget) }

// budget returns the maximum size of the key's status, in bytes of JSON.
func (q *queue) budget(key status.Key) (budget int) {
	q.update(key, func(p *plan.Progress) { budget = p.Budget() })
	return budget
}

// shrink reduces the key's budget.
func (q *queue) shrink(key status.Key) { q.update(key, (*plan.Progress).Shrink) }

// setShortened records whether an object of the key has a shortened list.
func (q *queue) setShortened(key status.Key, shortened bool) {
	q.update(key, func(p *plan.Progress) { p.Shortened = shortened })
}

// countShortened returns how many keys have an object with a shortened list.
func (q *queue) countShortened() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shortened
}

// endRound lets every status be tried in full again, and notifies the syncer.
func (q *queue) endRound() {
	q.mu.Lock()
	var all []status.Key
	for key := range q.progress {
		all = append(all, key)
	}
	q.mu.Unlock()
	for _, key := range all {
		q.update(key, (*plan.Progress).ResetBudget)
	}
	q.rounds.Notify()
}

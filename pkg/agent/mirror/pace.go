package mirror

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

const (
	// A name that fails is tried again after retryBase, then after twice that,
	// and so on up to retryMax.
	retryBase = 20 * time.Millisecond
	retryMax  = 30 * time.Second
	// retriesPerSecond and retryBurst bound the retries of all names together,
	// so that an API server that refuses 5,000 writes is not asked for each of
	// them again and again: at most 600 requests in a minute, once the burst
	// is used.
	retriesPerSecond = 10
	retryBurst       = 100
	// releasedBySuccess is how many failing names are tried at once for each
	// one that works again. With two, what failed together recovers together,
	// as fast as the API server allows; and each extra request was paid for by
	// a success, so that there is no hot loop.
	releasedBySuccess = 2
)

// pace is how long a name waits for its next try: the longer of its own wait,
// and of the wait for its turn among all that fail.
type pace struct {
	clock clock.PassiveClock
	own   workqueue.TypedRateLimiter[string]

	mu  sync.Mutex
	all *rate.Limiter
}

func newPace(clock clock.PassiveClock) *pace {
	p := &pace{clock: clock, own: workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryBase, retryMax)}
	p.reset()
	return p
}

// When returns how long name has to wait.
func (p *pace) When(name string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	return max(p.own.When(name), p.all.ReserveN(now, 1).DelayFrom(now))
}

// Forget is called when name works.
func (p *pace) Forget(name string) { p.own.Forget(name) }

// NumRequeues is how often name has failed in a row.
func (p *pace) NumRequeues(name string) int { return p.own.NumRequeues(name) }

// reset is called when nothing fails any more: turns that were given out and
// are not needed do not delay those who come later.
func (p *pace) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = rate.NewLimiter(retriesPerSecond, retryBurst)
}

package klusterlet

import (
	"context"
	"sync"
	"time"
)

const (
	// maxJoins is the number of clusters that join at a time. The hub gives clusters their
	// permissions one after the other. Those that wait for them send requests in vain, and
	// back off for up to half a minute.
	maxJoins = 50
	// joinLimit is the time after which a cluster that has not joined gives up its turn,
	// for example because it is cut off from the hub. It goes on to join.
	joinLimit = time.Minute
)

// turns limits how many do something at a time.
type turns struct {
	taken chan struct{}
	limit time.Duration
}

func newTurns(number int, limit time.Duration) turns {
	return turns{taken: make(chan struct{}, number), limit: limit}
}

// wait waits for a turn. It ends with the first call of done, or after the limit.
func (t turns) wait(ctx context.Context) (done func(), err error) {
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	end := sync.OnceFunc(func() { <-t.taken })
	timer := time.AfterFunc(t.limit, end)
	return func() {
		timer.Stop()
		end()
	}, nil
}

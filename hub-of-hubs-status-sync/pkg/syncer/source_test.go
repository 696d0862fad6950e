package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// fakeSource is a database. What it is asked is noted; a question that is named in
// fails has no answer.
type fakeSource struct {
	mu     sync.Mutex
	next   status.Changes
	beats  status.Heartbeats
	keys   []status.Key
	ofHub  map[string][]status.Key
	fails  map[string]bool
	asked  []string
	since  []status.Cursor
	notify func()
	// backlog is true while the log has more old rows.
	backlog bool
	listens int
}

func (s *fakeSource) ask(question string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, question)
	if s.fails[question] {
		return errors.New("away: " + question)
	}
	return nil
}

// questions returns what was asked since the last time.
func (s *fakeSource) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *fakeSource) Changes(_ context.Context, since status.Cursor) (status.Changes, error) {
	s.since = append(s.since, since)
	return s.next, s.ask("changes")
}

func (s *fakeSource) Trim(context.Context) (bool, error) {
	return s.backlog, s.ask("trim")
}

func (s *fakeSource) Listen(ctx context.Context, notify func()) error {
	s.mu.Lock()
	s.listens++
	first := s.listens == 1
	s.notify = notify
	s.mu.Unlock()
	if first {
		return errors.New("the connection broke")
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *fakeSource) Read(context.Context, []status.Key) (status.Snapshot, error) {
	return status.Snapshot{}, s.ask("read")
}

func (s *fakeSource) Scan(_ context.Context, after status.Key, limit int) ([]status.Key, error) {
	from := 0
	if after != (status.Key{}) {
		from = slices.Index(s.keys, after) + 1
	}
	return s.keys[from:min(from+limit, len(s.keys))], s.ask("scan")
}

func (s *fakeSource) KeysOfHub(_ context.Context, hub string) ([]status.Key, error) {
	return s.ofHub[hub], s.ask("hub " + hub)
}

func (s *fakeSource) Heartbeats(context.Context) (status.Heartbeats, error) {
	return s.beats, s.ask("heartbeats")
}

func policyKey(name string) status.Key { return status.Key{Kind: status.KindPolicy, ID: name} }

func policyKeys(n int) []status.Key {
	keys := make([]status.Key, 0, n)
	for i := range n {
		keys = append(keys, policyKey(fmt.Sprintf("%06d", i)))
	}
	return keys
}

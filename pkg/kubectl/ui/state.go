package ui

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/status"
)

// state is what the page shows: the last that was read of the hub.
type state struct {
	// Fleet has no Report until the hub was read.
	status.Fleet
	Rollouts []Rollout
	// Groups are the decision groups of the Placements.
	Groups []PlacementGroups
	// RolloutsError is why rollouts cannot be read, or empty.
	RolloutsError string
}

// Update is what a page is told: everything, or what changed since the update before.
type Update struct {
	// Whole reports whether the page forgets what it knew.
	Whole bool `json:"whole"`
	// Time is when the clusters were judged.
	Time metav1.Time `json:"time"`
	// Clusters are the rows that changed, Labels the labels of the clusters that changed, and Gone the names of clusters that are gone.
	// The labels are nil of a cluster without a ManagedCluster.
	Clusters []report.Row                 `json:"clusters,omitempty"`
	Labels   map[string]map[string]string `json:"labels,omitempty"`
	Gone     []string                     `json:"gone,omitempty"`
	Totals   report.Totals                `json:"totals"`
	NotRead  []report.NotRead             `json:"notRead,omitempty"`
	// Rollouts are all rollouts, where one changed.
	Rollouts *Rollouts `json:"rollouts,omitempty"`
	// Groups are the decision groups of all Placements, where one changed. They are many more than the rollouts, and change rarely.
	Groups []PlacementGroups `json:"groups,omitzero"`
}

// Rollouts is what the page shows of rollouts.
type Rollouts struct {
	All   []Rollout `json:"all"`
	Error string    `json:"error,omitempty"`
}

// rows returns the clusters by their names.
func (s state) rows() map[string]report.Row {
	rows := map[string]report.Row{}
	if s.Report != nil {
		for _, row := range s.Clusters {
			rows[row.Name] = row
		}
	}
	return rows
}

// updateOf returns what to tell a page that knows before, or nil if it knows now already. A page that knows nothing has no report.
func updateOf(before, now state) *Update {
	if now.Report == nil {
		return nil
	}
	u := &Update{Whole: before.Report == nil, Time: now.Time, Totals: now.Totals, NotRead: now.NotRead}
	u.Clusters, u.Gone = rowsSince(before.Report, now.Report)
	u.Labels = labelsSince(before.Labels, now.Labels, u.Gone)
	if u.Whole || !slices.EqualFunc(before.Rollouts, now.Rollouts, Rollout.equal) || before.RolloutsError != now.RolloutsError {
		u.Rollouts = &Rollouts{All: now.Rollouts, Error: now.RolloutsError}
	}
	if u.Whole || !slices.EqualFunc(before.Groups, now.Groups, PlacementGroups.equal) {
		u.Groups = append([]PlacementGroups{}, now.Groups...)
	}
	if !u.Whole && len(u.Clusters)+len(u.Gone)+len(u.Labels) == 0 && u.Rollouts == nil && u.Groups == nil && slices.Equal(before.NotRead, now.NotRead) {
		return nil
	}
	return u
}

// rowsSince returns the rows of now that differ from before, and the names that before had alone. before may be nil.
func rowsSince(before, now *report.Report) (changed []report.Row, gone []string) {
	if before == nil {
		return now.Clusters, nil
	}
	for _, row := range status.Changed(before, now) {
		if row.State == report.Gone {
			gone = append(gone, row.Name)
		} else {
			changed = append(changed, row)
		}
	}
	return changed, gone
}

// labelsSince returns the labels that differ from before, nil where there are none any more, but not of the clusters that are gone.
func labelsSince(before, now map[string]map[string]string, gone []string) map[string]map[string]string {
	changed := map[string]map[string]string{}
	for name, labels := range now {
		if known, ok := before[name]; !ok || !maps.Equal(known, labels) {
			changed[name] = labels
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok && !slices.Contains(gone, name) {
			changed[name] = nil
		}
	}
	return changed
}

// board holds the state for the pages that are open. Its zero value has nothing.
type board struct {
	mu    sync.Mutex
	now   state
	pages map[chan struct{}]bool
}

// change changes the state, and wakes the pages.
func (b *board) change(change func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.now)
	for page := range b.pages {
		select {
		case page <- struct{}{}:
		default: // it has not looked since the change before
		}
	}
}

// get returns the state. What it refers to is not changed afterwards.
func (b *board) get() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// open returns a channel that has a value when the state may have changed, and a function to close it.
func (b *board) open() (<-chan struct{}, func()) {
	page := make(chan struct{}, 1)
	page <- struct{}{}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pages == nil {
		b.pages = map[chan struct{}]bool{}
	}
	b.pages[page] = true
	return page, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.pages, page)
	}
}

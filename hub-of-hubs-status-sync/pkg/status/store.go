package status

import (
	"context"
	"time"
)

// Kind is what a status is about: a kind of custom resource on the global hub, or a kind of object that a leaf hub
// reports.
type Kind string

// The kinds. The first seven are aggregated on the global hub; all but Policy and AddOnSummary are also what a leaf hub
// reports as whole objects, and the last two are reported alone.
const (
	KindPolicy             Kind = "Policy"
	KindPlacementRule      Kind = "PlacementRule"
	KindPlacement          Kind = "Placement"
	KindPlacementDecision  Kind = "PlacementDecision"
	KindSubscriptionStatus Kind = "SubscriptionStatus"
	KindSubscriptionReport Kind = "SubscriptionReport"
	// KindAddOnSummary is what the leaf hubs' ManagedClusterAddOns of one name come to.
	KindAddOnSummary Kind = "AddOnSummary"

	KindManagedClusterAddOn Kind = "ManagedClusterAddOn"
	KindManagedCluster      Kind = "ManagedCluster"
)

// Key names one object on the global hub whose status is an aggregate of rows.
type Key struct {
	Kind Kind
	// ID is the uid that the object has, or had, on the global hub: the id of its row in spec.*. For
	// PlacementDecision it is the Placement's, for SubscriptionStatus and SubscriptionReport the Subscription's, and
	// for AddOnSummary the add-on's name.
	ID string
}

// Cursor is a place in the log of changes. Its content is the store's; the zero value is before everything.
type Cursor string

// Change says that the rows behind a key changed.
type Change struct {
	Key Key
	// Age is how long ago the oldest of the key's changes was made, by the database's clock.
	Age time.Duration
}

// Changes is what has changed since a cursor, each key once.
type Changes struct {
	Changed []Change
	// Next is where the next look begins. A change that was made before it and is committed after it is not lost.
	Next Cursor
	// Reset says that the log cannot tell what changed since the cursor: it is the zero value, the log was trimmed
	// beyond it, a table was truncated, or the database is another one. Everything has to be looked at; Changed may
	// still name keys.
	Reset bool
}

// Heartbeats says when each leaf hub was last heard of.
type Heartbeats struct {
	// Now is the database's clock when it was asked; only its distance to the other times means something.
	Now time.Time
	// Started is when the database's server started: before that nobody could beat. Zero: it is not known.
	Started time.Time
	// Last has no entry for a leaf hub that never beat.
	Last map[string]time.Time
}

// ComplianceRow is one row of status.compliance of one policy.
type ComplianceRow struct {
	LeafHub, Cluster string
	// Error is 'none' or 'disconnected'.
	Error string
	// Compliance is 'compliant', 'non_compliant' or 'unknown'.
	Compliance string
}

// PayloadRow is one object as one leaf hub has it. The payload is JSON of any shape: nothing checks what a writer puts
// there.
type PayloadRow struct {
	LeafHub string
	Payload []byte
	// Count is how many objects of the leaf hub have this payload; zero counts as one. Only of an AddOnSummary, whose
	// payloads have nothing but their conditions' types, statuses and reasons, it may be more than one.
	Count int64
}

// Object is everything that the database knows about one key.
type Object struct {
	Key Key
	// Found is false when spec.* has no such row, or has it marked as deleted, or it is outside the namespace that the
	// store is limited to; rows are then not read. An AddOnSummary is always found.
	Found bool
	// Namespace and Name are those of the row in spec.*: of the Placement for a PlacementDecision, of the
	// Subscription for a SubscriptionStatus or SubscriptionReport. For an AddOnSummary, Name is the add-on's.
	Namespace, Name string
	// Compliance are the rows of a Policy, Payloads those of every other kind, in no order.
	Compliance []ComplianceRow
	Payloads   []PayloadRow
}

// Snapshot is what was in the database at one moment.
type Snapshot struct {
	// Objects are in the order of the keys that were asked for, one for each.
	Objects    []Object
	Heartbeats Heartbeats
	// Rows is how many rows were read: of status.*, where those of an AddOnSummary that are alike are one.
	Rows int
}

// ChangeLog tells what changed.
type ChangeLog interface {
	// Changes returns what changed since the cursor. It asks the database once and writes nothing.
	Changes(ctx context.Context, since Cursor) (Changes, error)
	// Listen calls notify once when it listens and then whenever something may have changed, until the context ends
	// or the connection breaks. Notifications can be missed; Changes cannot.
	Listen(ctx context.Context, notify func()) error
}

// Reader reads what is to be aggregated.
type Reader interface {
	// Read returns all rows of the keys as they were at one moment. An error in the middle is an error of the whole.
	Read(ctx context.Context, keys []Key) (Snapshot, error)
	// Scan returns the keys of all that spec.* has and that is not deleted, ordered, limit at a time, after the given
	// one; the zero Key is before all. Fewer than limit means that there are no more.
	Scan(ctx context.Context, after Key, limit int) ([]Key, error)
	// KeysOfHub returns the keys that a leaf hub has rows of.
	KeysOfHub(ctx context.Context, leafHub string) ([]Key, error)
}

// HeartbeatReader tells when the leaf hubs were last heard of.
type HeartbeatReader interface {
	Heartbeats(ctx context.Context) (Heartbeats, error)
}

// ComplianceEntry is what one cluster says about one policy.
type ComplianceEntry struct {
	// PolicyID is the policy's uid on the global hub.
	PolicyID, Cluster string
	// Error is 'none' (also when empty) or 'disconnected'.
	Error string
	// Compliance is 'compliant', 'non_compliant' or 'unknown'.
	Compliance string
}

// ObjectEntry is one object as the leaf hub has it.
type ObjectEntry struct {
	Kind Kind
	// ID is a uuid: the uid on the global hub, or on the leaf hub. It is not used for a ManagedCluster.
	ID string
	// Payload is the object as JSON; its name and namespace are those in its metadata.
	Payload []byte
	// Error is 'none' (also when empty) or 'disconnected'; it is used for a ManagedCluster alone.
	Error string
}

// ObjectRef names an object on a leaf hub.
type ObjectRef struct {
	Kind            Kind
	Namespace, Name string
}

// Batch is what a leaf hub has to say at once. Of two entries about the same thing the later one counts.
type Batch struct {
	Compliance []ComplianceEntry
	// CompletePolicies are the ids of the policies whose entries in Compliance are all that the leaf hub has: its rows
	// of other clusters go. A policy without entries goes altogether.
	CompletePolicies []string
	Objects          []ObjectEntry
	Removed          []ObjectRef
}

// Rejection is an entry that the database could not take, and why. The others were written.
type Rejection struct {
	Entry  string
	Reason string
}

// Result says what a batch changed: rows that were as they should be do not count.
type Result struct {
	Written, Removed int
	Rejected         []Rejection
}

// Inventory is what the database has of a leaf hub.
type Inventory struct {
	Policies []string
	Objects  []ObjectRef
}

// Writer writes what a leaf hub reports. Each call ends by itself, at the latest when the store's own limit is over.
type Writer interface {
	// Apply writes a batch in one transaction. The same batch again changes nothing.
	Apply(ctx context.Context, leafHub string, batch Batch) (Result, error)
	// Present returns what the database has of the leaf hub, so that what is gone can be removed.
	Present(ctx context.Context, leafHub string) (Inventory, error)
	// Heartbeat says that the leaf hub is there.
	Heartbeat(ctx context.Context, leafHub string) error
}

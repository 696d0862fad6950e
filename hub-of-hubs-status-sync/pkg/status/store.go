package status

import (
	"context"
	"time"
)

// Kind is a kind of custom resource on the global hub, or a kind of object that a leaf hub reports.
type Kind string

// The kinds. The first seven are aggregated on the global hub. All but Policy and AddOnSummary are reported by leaf hubs as
// whole objects. The last two are only reported.
const (
	KindPolicy             Kind = "Policy"
	KindPlacementRule      Kind = "PlacementRule"
	KindPlacement          Kind = "Placement"
	KindPlacementDecision  Kind = "PlacementDecision"
	KindSubscriptionStatus Kind = "SubscriptionStatus"
	KindSubscriptionReport Kind = "SubscriptionReport"
	// KindAddOnSummary aggregates the leaf hubs' ManagedClusterAddOns with one name.
	KindAddOnSummary Kind = "AddOnSummary"

	KindManagedClusterAddOn Kind = "ManagedClusterAddOn"
	KindManagedCluster      Kind = "ManagedCluster"
)

// Key names one object on the global hub whose status is an aggregate of rows.
type Key struct {
	Kind Kind
	// ID is the object's uid on the global hub, which is the id of its row in spec.*. For PlacementDecision it is the
	// Placement's, for SubscriptionStatus and SubscriptionReport the Subscription's. For AddOnSummary it is the add-on's
	// name.
	ID string
}

// Cursor is a position in the log of changes. Only the store interprets it. The zero value is before every change.
type Cursor string

// Change is a change of a key's rows.
type Change struct {
	Key Key
	// Age is the time since the oldest change of the key, by the database's clock.
	Age time.Duration
}

// Changes holds the changes since a cursor, each key once.
type Changes struct {
	Changed []Change
	// Next is the cursor for the next call. Changes that began before it and are committed after it are not lost.
	Next Cursor
	// Reset is true if the log does not have every change since the cursor: the cursor is the zero value, the log was
	// trimmed after it, a table was truncated, or the database is another one. The caller has to sync every object.
	// Changed may still have keys.
	Reset bool
	// Unlogged is why there is no log of changes, with the remedy, and is empty if there is one. Without a log, nothing else
	// is set, and the caller has to scan: KeysOfHub fails, and Scan and Read leave out kinds whose tables cannot be read.
	Unlogged string
}

// Heartbeats holds the last heartbeat of each leaf hub.
type Heartbeats struct {
	// Now is the database's clock at the time of the query. Only the difference to the other times is meaningful.
	Now time.Time
	// Started is the start time of the database's server, before which no hub could send a heartbeat. It is zero if
	// unknown.
	Started time.Time
	// Last has no entry for a leaf hub that never sent one.
	Last map[string]time.Time
	// Interval is the time from the last heartbeat to the next one, as its writer stated it. It has no entry for a leaf hub
	// whose last heartbeat was written without one, for example by the original transport bridge.
	Interval map[string]time.Duration
}

// ComplianceRow is one row of status.compliance of one policy.
type ComplianceRow struct {
	LeafHub, Cluster string
	// Error is 'none' or 'disconnected'.
	Error string
	// Compliance is 'compliant', 'non_compliant' or 'unknown'.
	Compliance string
}

// PayloadRow is an object of one leaf hub. The payload is JSON of any shape, because the database does not validate it.
type PayloadRow struct {
	LeafHub string
	Payload []byte
	// Count is the number of objects of the leaf hub with this payload. Zero means one. It is above one only for an
	// AddOnSummary, whose payloads hold only the types, statuses and reasons of conditions.
	Count int64
}

// Object holds all rows of one key.
type Object struct {
	Key Key
	// Found is false if spec.* has no such row, if the row is marked as deleted, or if it is outside the namespace of the
	// store, or its kind is left out (see Changes.Unlogged). Rows are then not read. Otherwise the AddOnSummary of this add-on
	// is always found, and that of another one never.
	Found bool
	// Namespace and Name are those of the row in spec.*: of the Placement for a PlacementDecision, of the
	// Subscription for a SubscriptionStatus or SubscriptionReport. For an AddOnSummary, Name is the add-on's.
	Namespace, Name string
	// Compliance holds the rows of a Policy, Payloads those of every other kind, in no order.
	Compliance []ComplianceRow
	Payloads   []PayloadRow
}

// Snapshot is a consistent read of several objects.
type Snapshot struct {
	// Objects has one entry for each requested key, in the same order.
	Objects    []Object
	Heartbeats Heartbeats
	// Rows is the number of rows that were read from status.*. Equal rows of an AddOnSummary count as one.
	Rows int
}

// ChangeLog returns changes of the database.
type ChangeLog interface {
	// Changes returns the changes since the cursor, with one query and no write.
	Changes(ctx context.Context, since Cursor) (Changes, error)
	// Listen calls notify once when it listens, and then for each notification, until the context ends or the connection
	// breaks. Notifications can be lost; Changes is complete.
	Listen(ctx context.Context, notify func()) error
	// Trim deletes rows of the log that are older than a reader that keeps up needs, a limited number in a call. It reports
	// whether more are left.
	Trim(ctx context.Context) (more bool, err error)
}

// Reader reads the rows to aggregate.
type Reader interface {
	// Read returns all rows of the keys under one snapshot, or an error.
	Read(ctx context.Context, keys []Key) (Snapshot, error)
	// Scan returns the keys of the objects in spec.* that are not deleted, ordered, at most limit after the given one.
	// The zero Key is before all. Fewer than limit keys are the last ones.
	Scan(ctx context.Context, after Key, limit int) ([]Key, error)
	// KeysOfHub returns the keys with rows of a leaf hub.
	KeysOfHub(ctx context.Context, leafHub string) ([]Key, error)
}

// HeartbeatReader returns the leaf hubs' heartbeats.
type HeartbeatReader interface {
	Heartbeats(ctx context.Context) (Heartbeats, error)
}

// ComplianceEntry is the compliance of one cluster with one policy.
type ComplianceEntry struct {
	// PolicyID is the policy's uid on the global hub.
	PolicyID, Cluster string
	// Error is 'none' (also when empty) or 'disconnected'.
	Error string
	// Compliance is 'compliant', 'non_compliant' or 'unknown'.
	Compliance string
}

// ObjectEntry is an object of the leaf hub.
type ObjectEntry struct {
	Kind Kind
	// ID is the object's uid on the global hub, or on the leaf hub. It is unused for a ManagedCluster.
	ID string
	// Payload is the object as JSON. Its metadata has the name and namespace.
	Payload []byte
	// Error is 'none' (also when empty) or 'disconnected'. It is used for a ManagedCluster only.
	Error string
}

// ObjectRef names an object on a leaf hub.
type ObjectRef struct {
	Kind            Kind
	Namespace, Name string
}

// Batch is a report of a leaf hub that is written in one transaction. Of two entries about the same row the later counts.
type Batch struct {
	Compliance []ComplianceEntry
	// CompletePolicies lists the policies of which Compliance has every entry of the leaf hub. Rows of other clusters are
	// deleted. For example, a policy without entries loses all rows.
	CompletePolicies []string
	Objects          []ObjectEntry
	Removed          []ObjectRef
}

// Rejection is an entry that was not written, with the reason. The other entries were written.
type Rejection struct {
	Entry  string
	Reason string
}

// Result counts the rows that a batch changed.
type Result struct {
	Written, Removed int
	Rejected         []Rejection
}

// Inventory lists the objects with rows of a leaf hub.
type Inventory struct {
	Policies []string
	Objects  []ObjectRef
}

// Writer writes the report of a leaf hub. The store bounds the time of each call.
type Writer interface {
	// Apply writes a batch in one transaction. The same batch again changes nothing.
	Apply(ctx context.Context, leafHub string, batch Batch) (Result, error)
	// Present returns the objects with rows of the leaf hub, so that the caller can delete obsolete ones.
	Present(ctx context.Context, leafHub string) (Inventory, error)
	// Heartbeat records that the leaf hub is up, and states the interval after which the next heartbeat follows.
	Heartbeat(ctx context.Context, leafHub string, interval time.Duration) error
}

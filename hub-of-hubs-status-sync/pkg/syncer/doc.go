// Package syncer is the program hub-of-hubs-status-sync. On the global hub it
// writes the status of objects from the rows that the leaf hubs wrote into the
// database. It writes nothing into the database, and reads no object's spec.
//
//		PostgreSQL ──changes, heartbeats──► feed ──► keys ──► kindSyncer ──► Policy, Placement, …
//		     └────────────rows of a key───────────────────────────▲  └─watch, compare, write─┘
//
//	  - The feed (feed.go) polls the change log and the heartbeats, and requests the
//	    keys that have to be synced.
//	  - The keys (keys.go) hold one work queue for each kind, and the progress of each
//	    key (plan.Progress).
//	  - A kindSyncer (sync.go) takes the keys of one kind: it looks at the objects
//	    (objects.go), reads all rows of the key, aggregates them (package status),
//	    plans the writes (package plan), writes (write.go) and records the result.
//
// A write is never older than the object that it replaces: the object is looked at
// before the rows are read, and the write carries the resourceVersion of that look.
// This holds even if two syncers run by mistake, or a new leader begins before the
// previous one has stopped. A create carries no resourceVersion: an object that
// another syncer created and deleted in between may come back, and is deleted again
// at the next sync of its key.
package syncer

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Budget is how many bytes of JSON a status may have before it is summarised.
// etcd takes objects of 1.5 MiB; the rest is for the object's spec, its metadata
// and its managed fields.
const Budget = 1 << 20

// Rows is what the database says about one object of the global hub, read
// under one snapshot. The order of the rows does not matter.
type Rows struct {
	// Namespace, Name and UID are the object's on the global hub; for a kind
	// that is created by the syncer, they are its owner's.
	Namespace, Name, UID string
	Compliance           []ComplianceRow
	Payloads             []PayloadRow
	// Stale are the leaf hubs whose heartbeat is old, with their last heartbeat.
	Stale map[string]time.Time
}

// Desired is what one object of the global hub has to say.
type Desired struct {
	// Name is the object's; its namespace is that of the rows.
	Name string
	// Labels and Annotations are for kinds that are created by the syncer.
	Labels, Annotations map[string]string
	// Fields are the only ones that are written. Others are somebody else's.
	Fields []Field
	// Summarised says what was left out because the status would not fit into
	// an object, such as "11000 of 100000 clusters listed"; empty: nothing.
	Summarised string
	// Note is for people, for what the object has no field to say; empty:
	// nothing.
	Note string
}

// Field is a field of an object and the value that it has to have: a string, a
// boolean, an int64, or a slice of JSON values; nil: the field must be absent. A
// map is none: what is written is merged into the object, so a key that a map no
// longer has would stay. Its keys are fields of their own.
type Field struct {
	Path  []string
	Value any
}

// Aggregate makes what the global hub has to say of what the leaf hubs say. It
// depends on nothing but the rows; budget is the most bytes of JSON that one
// object's fields may have. An error means that a row cannot be understood:
// then nothing may be written, because it would be less than the truth.
type Aggregate func(rows Rows, budget int) ([]Desired, error)

// Annotations on the objects that the syncer creates. The kinds that it does not
// create have their own way to say the same, or none.
const (
	// AnnotationStale names the leaf hubs whose heartbeat is old.
	AnnotationStale = "hub-of-hubs.open-cluster-management.io/stale-leaf-hubs"
	// AnnotationSummarised says what was left out because it would not fit.
	AnnotationSummarised = "hub-of-hubs.open-cluster-management.io/summarised"
)

// decode reads the payload of a row into a value of the fields that matter.
func decode[T any](row PayloadRow) (T, error) {
	var object *T
	var zero T
	if err := json.Unmarshal(row.Payload, &object); err != nil {
		return zero, fmt.Errorf("read the row of leaf hub %q: %w", row.LeafHub, err)
	}
	if object == nil {
		return zero, fmt.Errorf("read the row of leaf hub %q: %w", row.LeafHub, errNoObject)
	}
	return *object, nil
}

var errNoObject = errors.New("its payload is null, not an object")

// decoded is a row's payload with the hub that it is from.
type decoded[T any] struct {
	hub    string
	stale  bool
	count  int64
	object T
}

// decodeAll reads all rows, sorted by hub and then by payload, so that the order
// in which the database returns them does not matter. It returns every problem.
func decodeAll[T any](rows Rows) ([]decoded[T], error) {
	payloads := slices.Clone(rows.Payloads)
	slices.SortFunc(payloads, func(a, b PayloadRow) int {
		if c := strings.Compare(a.LeafHub, b.LeafHub); c != 0 {
			return c
		}
		return slices.Compare(a.Payload, b.Payload)
	})
	all := make([]decoded[T], 0, len(payloads))
	var errs []error
	for _, row := range payloads {
		object, err := decode[T](row)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, stale := rows.Stale[row.LeafHub]
		all = append(all, decoded[T]{hub: row.LeafHub, stale: stale, count: max(row.Count, 1), object: object})
	}
	return all, errors.Join(errs...)
}

// staleHubs are the stale ones of the hubs, each once and sorted.
func staleHubs[T any](all []decoded[T]) []string {
	var hubs []string
	for _, row := range all {
		if row.stale {
			hubs = append(hubs, row.hub)
		}
	}
	slices.Sort(hubs)
	return slices.Compact(hubs)
}

// annotations are those of an object that the syncer creates.
func annotations(stale []string, summarised string) map[string]string {
	result := map[string]string{}
	if len(stale) > 0 {
		result[AnnotationStale] = bounded(stale, ",")
	}
	if summarised != "" {
		result[AnnotationSummarised] = summarised
	}
	return result
}

// Texts are for people: 10 names are what one reads, and 1024 bytes are what
// conditions usually have.
const (
	maxNames = 10
	maxText  = 1024
)

// bounded joins texts, at most maxNames of them and at most maxText bytes.
func bounded(texts []string, separator string) string {
	rest := 0
	if len(texts) > maxNames {
		texts, rest = texts[:maxNames], len(texts)-maxNames
	}
	text := strings.Join(texts, separator)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	if rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

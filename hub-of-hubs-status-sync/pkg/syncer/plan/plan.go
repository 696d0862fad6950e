// Package plan holds the decisions of the status sync as pure functions: which
// writes turn the present objects into the desired ones (Plan), when a key is
// synced again (Progress), which leaf hubs are stale (StaleHubs), and how many keys
// a spread scan reads (ScanShare). Package syncer reads the input and carries out
// the result.
package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// Object is the metadata of an object on the global hub.
type Object struct {
	UID                 types.UID
	ResourceVersion     string
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Owner is the uid of the object's controller: the owner reference with
	// controller: true. Objects that the original hub-of-hubs-status-sync created
	// have it too. Other owner references do not count: they only make the garbage
	// collector delete the object.
	Owner    types.UID
	Deleting bool
}

// Present is an object and its fields: either their Digest, known since they were
// last written or compared, or the object's Content.
type Present struct {
	Object
	Digest  string
	Content map[string]any
}

// DigestOf returns the digest of the given fields of the object.
func (p Present) DigestOf(fields []status.Field) string {
	if p.Digest != "" {
		return p.Digest
	}
	return Digest(project(p.Content, fields))
}

// Verb is a kind of write.
type Verb string

// The verbs. Their values are values of a metric's label.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Action is one write. Present is set for Update and Delete, Desired for Create
// and Update. Meta and Fields are the parts of the object that differ.
type Action struct {
	Verb         Verb
	Present      Present
	Desired      status.Desired
	Meta, Fields bool
}

// Name returns the name of the object that the action writes.
func (a Action) Name() string {
	if a.Verb == Create {
		return a.Desired.Name
	}
	return a.Present.Name
}

// Plan returns the writes that turn the present objects into the desired ones,
// sorted by name; none if they are equal.
//
//	state                  action
//	missing, desired       Create, if the sync creates objects of this kind
//	present, desired       Update, if fields, labels or own annotations differ
//	present, not desired   Delete, if the sync creates objects of this kind
//	being deleted          none, until the object is gone
//
// Fields, labels and annotations that the desired object does not name belong to
// other writers and are not compared. For a kind whose objects the sync does not
// create, present holds at most one object: the one with the row's uid.
func Plan(entry status.Entry, all []Present, desired []status.Desired) []Action {
	byName := map[string]Present{}
	for _, p := range all {
		byName[p.Name] = p
	}
	var actions []Action
	for _, d := range desired {
		p, found := byName[d.Name]
		delete(byName, d.Name)
		switch {
		case !found && entry.Creates:
			actions = append(actions, Action{Verb: Create, Desired: d, Fields: true})
		case found && !p.Deleting:
			a := Action{Verb: Update, Present: p, Desired: d,
				Meta:   entry.Creates && metaDiffers(p.Object, d),
				Fields: p.DigestOf(d.Fields) != Digest(d.Fields)}
			if a.Meta || a.Fields {
				actions = append(actions, a)
			}
		}
	}
	if entry.Creates {
		for _, p := range byName {
			if !p.Deleting {
				actions = append(actions, Action{Verb: Delete, Present: p})
			}
		}
	}
	slices.SortStableFunc(actions, func(a, b Action) int { return strings.Compare(a.Name(), b.Name()) })
	return actions
}

// OwnAnnotations are the annotations that the sync writes and removes. It leaves
// all others unchanged.
var OwnAnnotations = []string{status.AnnotationStale, status.AnnotationSummarised}

func metaDiffers(p Object, d status.Desired) bool {
	for key, value := range d.Labels {
		if present, found := p.Labels[key]; !found || present != value {
			return true
		}
	}
	for _, key := range OwnAnnotations {
		present, found := p.Annotations[key]
		wanted, want := d.Annotations[key]
		if found != want || present != wanted {
			return true
		}
	}
	return false
}

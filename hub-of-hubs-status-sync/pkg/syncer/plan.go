package syncer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// object is what the API server says about an object, without its content.
type object struct {
	UID                 types.UID
	ResourceVersion     string
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Owner is the uid of its controller, as Kubernetes calls the one owner that
	// makes and deletes it; others only have it go when they go. The objects that
	// the hub of hubs' own sync made have it, too.
	Owner    types.UID
	Deleting bool
}

// present is an object and what is known of its fields: their digest, from when
// they were last written or compared, or the content.
type present struct {
	object
	Digest  string
	Content map[string]any
}

// digest is that of the fields which the desired object names.
func (p present) digest(fields []status.Field) string {
	if p.Digest != "" {
		return p.Digest
	}
	return digestOf(project(p.Content, fields))
}

type verb string

const (
	create verb = "create"
	update verb = "update"
	remove verb = "delete"
)

// action is one write. Meta and Fields say what of the object differs.
type action struct {
	Verb         verb
	Present      present
	Desired      status.Desired
	Meta, Fields bool
}

// plan makes the writes that turn what is present into what is desired. With
// nothing to do it is empty. A kind whose objects the syncer does not create has
// one object at most, the one with the row's uid.
func plan(entry status.Entry, all []present, desired []status.Desired) []action {
	byName := map[string]present{}
	for _, p := range all {
		byName[p.Name] = p
	}
	var actions []action
	for _, d := range desired {
		p, found := byName[d.Name]
		delete(byName, d.Name)
		switch {
		case !found && entry.Creates:
			actions = append(actions, action{Verb: create, Desired: d, Fields: true})
		case found && !p.Deleting:
			a := action{Verb: update, Present: p, Desired: d,
				Meta:   entry.Creates && metaDiffers(p.object, d),
				Fields: p.digest(d.Fields) != digestOf(d.Fields)}
			if a.Meta || a.Fields {
				actions = append(actions, a)
			}
		}
	}
	if entry.Creates {
		for _, p := range byName {
			if !p.Deleting {
				actions = append(actions, action{Verb: remove, Present: p})
			}
		}
	}
	slices.SortStableFunc(actions, func(a, b action) int {
		return strings.Compare(a.Present.Name+a.Desired.Name, b.Present.Name+b.Desired.Name)
	})
	return actions
}

// ownAnnotations are those that the syncer writes; others are left alone.
var ownAnnotations = []string{status.AnnotationStale, status.AnnotationSummarised}

func metaDiffers(p object, d status.Desired) bool {
	for key, value := range d.Labels {
		if present, found := p.Labels[key]; !found || present != value {
			return true
		}
	}
	for _, key := range ownAnnotations {
		present, found := p.Annotations[key]
		wanted, want := d.Annotations[key]
		if found != want || present != wanted {
			return true
		}
	}
	return false
}

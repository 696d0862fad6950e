// Package plan decides what the commands of "kubectl helloworld rollout" print and write. Its functions
// take objects and return lines, verdicts and writes; the caller reads the objects and sends the writes.
//
//	ConfigMapReplicaSet ─────────── Judge, Confirm ──► Progress: what status prints, and whether it ends
//	sources ──── NewPresent ────────────┘
//	ControllerRevisions ─────────── NewHistory ──────► Revisions: what history prints
//	all of them ─────────────────── NewUndo ─────────► Undo: the one write of undo
//
// A revision is named by the hash of its content, which package render computes as the controller does.
// So it is known without the controller which revision the sources make now.
package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/render"
)

// Sources are the ConfigMaps that a set names, by name. One that does not exist is missing.
type Sources map[string]*corev1.ConfigMap

// Present is what the sources and values of a set make now.
type Present struct {
	// Revision is its hash. It is empty if Problem states why the controller cannot roll it out.
	Revision, Problem string
}

// NewPresent returns what the sources and values of a set make now. Its rules are those of the controller.
func NewPresent(set *v1alpha1.ConfigMapReplicaSet, sources Sources) Present {
	var all []render.Content
	for _, ref := range set.Spec.ConfigMaps {
		source := sources[ref.Name]
		if source == nil {
			return Present{Problem: fmt.Sprintf("ConfigMap %s/%s does not exist", set.Namespace, ref.Name)}
		}
		all = append(all, render.ContentOf(source))
	}
	revision := render.NewRevision(all, set.Spec.Values)
	_, hash, err := revision.Encode()
	if err == nil {
		_, err = render.Compile(revision)
	}
	if err != nil {
		return Present{Problem: err.Error()}
	}
	return Present{Revision: hash}
}

// Kind is how users name the kind of a set.
const Kind = "configmapreplicaset"

// Named returns how messages name a set.
func Named(name string) string { return fmt.Sprintf(Kind+" %q", name) }

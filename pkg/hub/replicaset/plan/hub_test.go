package plan

import (
	"fmt"
	"maps"
	"math/rand"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// chance is a source of choices: a seed, or the bytes of a fuzzer.
type chance struct {
	random *rand.Rand
	bytes  []byte
}

func (c *chance) below(n int) int {
	if c.random != nil {
		return c.random.Intn(n)
	}
	if len(c.bytes) == 0 {
		return 0
	}
	b := int(c.bytes[0])
	c.bytes = c.bytes[1:]
	return b % n
}

func (c *chance) oneIn(n int) bool { return c.below(n) == n-1 }

func pick[T any](c *chance, of ...T) T { return of[c.below(len(of))] }

// hub is what is stored: all that a controller can read.
type hub struct {
	set        *v1alpha1.ConfigMapReplicaSet
	version    int // of the set
	revisions  map[string]int64
	source     int
	broken     bool
	placements map[string]Placement
	objects    map[string]Object
	reports    map[string][]v1alpha1.MirroredConfigMap
	disabled   map[string]bool
	labels     map[string]int  // what a cluster's content depends on
	unlabelled map[string]bool // clusters that lack a label that revision r2 needs
	claimed    map[string]bool // cluster/name that an older set writes
}

// clone returns a copy that shares nothing that is changed in place.
func (h hub) clone() hub {
	h.set = h.set.DeepCopy()
	h.revisions, h.placements, h.objects = maps.Clone(h.revisions), maps.Clone(h.placements), maps.Clone(h.objects)
	h.reports, h.disabled, h.labels, h.unlabelled = maps.Clone(h.reports), maps.Clone(h.disabled), maps.Clone(h.labels), maps.Clone(h.unlabelled)
	h.claimed = maps.Clone(h.claimed)
	return h
}

// names are the ConfigMaps of each revision.
var names = map[string][]string{"r0": {"a"}, "r1": {"a", "b"}, "r2": {"a", "c"}, "r3": {"a", "b"}}

func (h hub) content(cluster, revision string) Content {
	if _, stored := h.revisions[revision]; !stored {
		return Content{Problem: "revision " + revision + " is not stored"}
	}
	if revision == "r2" && h.unlabelled[cluster] {
		return Content{Problem: "label region is missing"}
	}
	hashes := map[string]string{}
	for _, name := range names[revision] {
		hashes[name] = fmt.Sprintf("%s-%s-%d", revision, name, h.labels[cluster])
	}
	return Content{Hashes: hashes}
}

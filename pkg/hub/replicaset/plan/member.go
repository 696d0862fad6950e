package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	rolloutv1alpha1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/hub/replicaset/steps"
)

// member is a selected cluster.
type member struct {
	cluster string
	enabled bool
	// at is the revision that the cluster was given last, or empty. since is when.
	at    string
	since time.Time
	// updated reports that it has every object of the updated revision and no other of the set's.
	updated bool
	// synced reports that its agent has copied all of them.
	synced bool
	// content is what it gets with the updated revision, obstacle why it cannot, or empty.
	content  Content
	obstacle string
	// failure is why it cannot get or copy the updated revision, or empty.
	failure  string
	timedOut bool
	state    steps.State
}

// member returns the state of a selected cluster with the updated revision.
func (p *planner) member(cluster string) *member {
	m := &member{cluster: cluster, enabled: p.Enabled(cluster)}
	m.at, m.since = p.given(cluster)
	if !m.enabled {
		m.state.Status = rolloutv1alpha1.Skip
		return m
	}
	if p.updated == "" {
		return m
	}
	m.content = p.Content(cluster, p.updated)
	m.obstacle = p.obstacle(cluster, m.content)
	m.updated = m.at == p.updated && p.whole(cluster, m.content)
	if m.failure = m.obstacle; m.failure != "" {
		// It is not in progress, so nothing waits for it.
		m.state.Status = rolloutv1alpha1.TimeOut
		return m
	}
	if refusal, refused := p.refused[cluster]; refused {
		m.failure = refusal.Message
		m.state = steps.State{Status: rolloutv1alpha1.Failed, Since: refusal.Since}
		return m
	}
	switch {
	case m.at != p.updated:
		m.state.Status = rolloutv1alpha1.ToApply
	case !m.updated:
		// The rest is written now.
		m.state = steps.State{Status: rolloutv1alpha1.Progressing, Since: p.now}
	default:
		p.report(m)
	}
	return m
}

// given returns the revision that the cluster was given last, and when: the latest that an object of the
// set has.
func (p *planner) given(cluster string) (at string, since time.Time) {
	for _, object := range p.objects[cluster] {
		switch {
		case !object.Owned(p.Set):
		case at == "" || p.later(object.Revision, at):
			at, since = object.Revision, object.Since
		case object.Revision == at && object.Since.After(since):
			since = object.Since
		}
	}
	return at, since
}

// whole reports whether the cluster has all objects of the updated revision, and no other of the set's.
func (p *planner) whole(cluster string, content Content) bool {
	found := 0
	for _, object := range p.objects[cluster] {
		if !object.Owned(p.Set) {
			continue
		}
		if _, wanted := content.Hashes[object.Name]; !wanted || object.Revision != p.updated || object.Since.IsZero() {
			return false
		}
		found++
	}
	return found == len(content.Hashes)
}

// obstacle returns why a cluster cannot get content, or an empty string.
func (p *planner) obstacle(cluster string, content Content) string {
	if content.Problem != "" {
		return content.Problem
	}
	if len(content.Hashes) == 0 {
		return "the revision has no ConfigMaps"
	}
	for _, name := range slices.Sorted(maps.Keys(content.Hashes)) {
		if older := p.claimed(Object{Cluster: cluster, Name: name}); older != "" {
			return fmt.Sprintf("ConfigMap %s belongs to ConfigMapReplicaSet %s, which is older", name, older)
		}
		switch object, exists := p.object(cluster, name); {
		case exists && !object.Owned(p.Set):
			return fmt.Sprintf("ConfigMap %s %s", name, object.owner(p.Set))
		case exists && object.Deleting:
			return fmt.Sprintf("ConfigMap %s is being deleted", name)
		}
	}
	return ""
}

func (p *planner) object(cluster, name string) (Object, bool) {
	objects := p.objects[cluster]
	if i := slices.IndexFunc(objects, func(o Object) bool { return o.Name == name }); i >= 0 {
		return objects[i], true
	}
	return Object{}, false
}

// report sets the state of a cluster that has the updated revision from its agent's report. An entry
// counts only for the revision that it names, and a success not before the cluster was given the
// revision, so that a former revision's success is not one of this revision
// (https://github.com/open-cluster-management-io/ocm/issues/1201).
func (p *planner) report(m *member) {
	m.state = steps.State{Status: rolloutv1alpha1.Succeeded, Since: m.since}
	synced := 0
	for _, entry := range p.Reports[m.cluster] {
		if _, wanted := m.content.Hashes[entry.Name]; !wanted || entry.Revision != p.updated {
			continue
		}
		switch entry.State {
		case v1alpha1.MirrorSynced:
			synced++
			if entry.Since.After(m.state.Since) {
				m.state.Since = entry.Since.Time
			}
		case v1alpha1.MirrorConflict, v1alpha1.MirrorFailed, v1alpha1.MirrorContested:
			if m.failure == "" {
				m.failure = fmt.Sprintf("ConfigMap %s is %s: %s", entry.Name, entry.State, entry.Message)
			}
		}
	}
	switch {
	case m.failure != "":
		m.state = steps.State{Status: rolloutv1alpha1.Failed, Since: m.since}
	case synced < len(m.content.Hashes):
		m.state = steps.State{Status: rolloutv1alpha1.Progressing, Since: m.since}
	default:
		m.synced = true
	}
}

// revision returns the revision of the cluster's step, or an empty string.
func (p *planner) revision(m *member, r *rollout) string {
	_, refused := p.refused[m.cluster]
	switch {
	case r.start[m.cluster] || refused:
		// A write that was refused was started; the caller backs off.
		return p.updated
	case m.at == "" && (p.current != p.updated || r.halted && !p.unreadable):
		// It has joined, or lost all of its ConfigMaps.
		return p.current
	}
	return m.at
}

// deliver plans the writes that give a cluster the revision of its step. Nothing is written if not all of
// it can be.
func (p *planner) deliver(m *member, revision string) {
	if !m.enabled || !p.stored(revision) {
		return
	}
	content, obstacle := m.content, m.obstacle
	if revision != p.updated {
		content = p.Content(m.cluster, revision)
		obstacle = p.obstacle(m.cluster, content)
	}
	if obstacle != "" {
		return
	}
	since := p.now
	if refusal, refused := p.refused[m.cluster]; refused && revision == p.updated && refusal.Since.Before(since) {
		// Its deadline began with the first attempt.
		since = refusal.Since
	}
	for _, name := range slices.Sorted(maps.Keys(content.Hashes)) {
		p.write(m.cluster, name, revision, since, content.Hashes[name])
	}
	for _, object := range p.objects[m.cluster] {
		if _, wanted := content.Hashes[object.Name]; !wanted && p.claimed(object) == "" {
			p.result.Writes = append(p.result.Writes, p.removal(Delete, object)...)
		}
	}
}

// write plans the write of one ConfigMap, unless it is as it should be.
func (p *planner) write(cluster, name, revision string, since time.Time, hash string) {
	object, exists := p.object(cluster, name)
	write := Write{Action: Create, Cluster: cluster, Name: name, UID: object.UID, ResourceVersion: object.ResourceVersion,
		Revision: revision, Since: since, Content: hash}
	if exists {
		write.Action = Update
		if object.Revision == revision && !object.Since.IsZero() {
			write.Since = object.Since
			if object.Content == hash {
				return
			}
		}
		if object.Immutable && object.Content != hash {
			write.Action = Replace
		}
	}
	p.result.Writes = append(p.result.Writes, write)
}

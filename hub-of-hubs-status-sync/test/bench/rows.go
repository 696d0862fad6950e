package bench

import (
	"fmt"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// badEvery: of every hundred clusters one is not compliant.
const badEvery = 100

// rows knows what every row should be.
type rows struct {
	hubs, clusters int
	// ids and names are those of the policies.
	ids, names []string
	// flipped is whether a row that would be compliant is not, by hub, cluster and policy.
	flipped map[[3]int]bool
	// expected is how many clusters of each policy are not compliant.
	expected map[string]int
}

func newRows(options *Options, ids, names []string) *rows {
	r := &rows{hubs: options.Hubs, clusters: options.Clusters, ids: ids, names: names,
		flipped: map[[3]int]bool{}, expected: map[string]int{}}
	for _, name := range names {
		r.expected[name] = r.hubs * ((r.clusters + badEvery - 1) / badEvery)
	}
	return r
}

// hubName has its zeros, so that loading hub by hub is loading in the order of the names.
func hubName(hub int) string { return fmt.Sprintf("hub%04d", hub) }

func (r *rows) entry(hub, cluster, policy int) status.ComplianceEntry {
	value := "compliant"
	if cluster%badEvery == 0 || r.flipped[[3]int{hub, cluster, policy}] {
		value = "non_compliant"
	}
	return status.ComplianceEntry{PolicyID: r.ids[policy], Cluster: fmt.Sprintf("%s-cluster%04d", hubName(hub), cluster), Compliance: value}
}

// flip turns a row round. A row that is never compliant stays, and the answer is false.
func (r *rows) flip(hub, cluster, policy int) bool {
	if cluster%badEvery == 0 {
		return false
	}
	key := [3]int{hub, cluster, policy}
	if r.flipped[key] {
		delete(r.flipped, key)
		r.expected[r.names[policy]]--
	} else {
		r.flipped[key] = true
		r.expected[r.names[policy]]++
	}
	return true
}

// whole is everything that a hub has to say.
func (r *rows) whole(hub int) status.Batch {
	batch := status.Batch{CompletePolicies: r.ids, Compliance: make([]status.ComplianceEntry, 0, r.clusters*len(r.ids))}
	for policy := range r.ids {
		for cluster := range r.clusters {
			batch.Compliance = append(batch.Compliance, r.entry(hub, cluster, policy))
		}
	}
	return batch
}

// flipMany turns up to limit rows round and returns the batches by hub, and how many rows they are.
func (r *rows) flipMany(limit, hubs int) (map[int]status.Batch, int) {
	batches, flipped := map[int]status.Batch{}, 0
	for hub := range hubs {
		var batch status.Batch
		for cluster := range r.clusters {
			for policy := range r.ids {
				if flipped < limit && r.flip(hub, cluster, policy) {
					flipped++
					batch.Compliance = append(batch.Compliance, r.entry(hub, cluster, policy))
				}
			}
		}
		if len(batch.Compliance) > 0 {
			batches[hub] = batch
		}
	}
	return batches, flipped
}

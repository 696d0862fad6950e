package plan

import "open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"

// namedRejections is how many rejected entries one log message names.
// rememberedRejections is how many are remembered; further ones are only counted in
// the metric. One mistake often affects many objects.
const namedRejections, rememberedRejections = 10, 1000

// Rejections remembers which rejected entries were logged: the database rejects
// them again at every change of their object.
type Rejections struct {
	// now are the rejections since the last comparison of everything; before are
	// those between the two comparisons before that.
	now, before map[status.Rejection]bool
}

// Add returns what to log: the new rejections with their reasons, and how many more
// there are. It returns each rejection once.
func (r *Rejections) Add(all []status.Rejection) (fresh []string, more int) {
	if r.now == nil {
		r.now = map[status.Rejection]bool{}
	}
	for _, one := range all {
		if r.now[one] || len(r.now) >= rememberedRejections {
			continue
		}
		r.now[one] = true
		switch {
		case r.before[one]:
		case len(fresh) < namedRejections:
			fresh = append(fresh, one.Entry+": "+one.Reason)
		default:
			more++
		}
	}
	return fresh, more
}

// Rotate is called after each comparison of everything. A rejection that does not
// occur between two calls is new again after the second.
func (r *Rejections) Rotate() { r.now, r.before = nil, r.now }

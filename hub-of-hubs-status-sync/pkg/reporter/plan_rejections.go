package reporter

import "open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"

// Of entries that the database does not take, a message names so many, and so
// many are remembered; of more only the metric tells. A mistake is often in many
// objects at once.
const namedRejections, rememberedRejections = 10, 1000

// rejections remembers which entries were already said to be rejected: they are
// rejected anew at every change of their object.
type rejections struct {
	// now are those since everything was looked at last, and before those of then
	// and the time before it.
	now, before map[status.Rejection]bool
}

// note returns what there is to say: some entries with their reasons, and how
// many more there are. What was said is not said again.
func (r *rejections) note(all []status.Rejection) (fresh []string, more int) {
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

// forget has what does not come again until it is called the next time be news
// after that. It is called when everything was looked at.
func (r *rejections) forget() { r.now, r.before = nil, r.now }

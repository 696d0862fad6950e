package calibrate

import (
	"math"
	"strings"
)

// difference is a known difference: its cause, and within which part of the real number
// the simulated one has to be all the same.
type difference struct {
	why    string
	within float64
}

// known returns the known difference of a kind of request; it has no cause if there is none.
func known(key cell) difference {
	switch {
	case strings.HasSuffix(key.what, conflict):
		return difference{"two writers at once, which is chance", math.Inf(1)}
	case key == cell{klusterlet, "patch manifestworks/status"}:
		// For example, a Job or Deployment that is being deleted is reported once more.
		return difference{"a real cluster is slower, so more states between are reported", 0.25}
	case key == cell{registration, "get namespaces"}:
		return difference{"the manager reads it again at each retry after a conflict, which is chance", 0.25}
	default:
		return difference{}
	}
}

// conflict is the end of a kind of request that another writer was faster with.
const conflict = ", 409"

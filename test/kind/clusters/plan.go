package clusters

import (
	"fmt"
	"slices"
	"strings"
)

// plan is what has to be done to have the wanted clusters.
type plan struct {
	// keep are our existing clusters, also those that are not wanted this time.
	keep []string
	// create are wanted and not there.
	create []string
}

// planUp compares the wanted clusters with those that kind has: existing by
// name, and whether they are ours. A wanted one that is not ours is an error and is
// left alone.
func planUp(wanted []string, existing map[string]bool, kindName func(string) string) (plan, error) {
	var p plan
	var foreign []string
	for _, name := range wanted {
		ours, there := existing[name]
		switch {
		case !there:
			p.create = append(p.create, name)
		case !ours:
			foreign = append(foreign, kindName(name))
		}
	}
	if len(foreign) > 0 {
		return plan{}, fmt.Errorf("there are kind clusters already that were not made here: %s\n"+
			"delete them (kind delete cluster --name %s, or docker rm -f -v %s-control-plane), or give this set other names with KIND_PREFIX=",
			strings.Join(foreign, ", "), foreign[0], foreign[0])
	}
	for name, ours := range existing {
		if ours {
			p.keep = append(p.keep, name)
		}
	}
	sortNames(p.keep)
	return p, nil
}

// wantedNames are the hub and n managed clusters.
func wantedNames(n int) []string {
	names := []string{Hub}
	for i := 1; i <= n; i++ {
		names = append(names, ManagedName(i))
	}
	return names
}

// sortNames puts the hub first, and cluster2 before cluster10.
func sortNames(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == Hub:
			return -1
		case b == Hub:
			return 1
		case len(a) != len(b):
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}

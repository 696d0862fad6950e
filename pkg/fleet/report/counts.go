package report

import (
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// ConfigMaps is how many ConfigMaps of a cluster are synced.
type ConfigMaps struct {
	Total  int `json:"total"`
	Synced int `json:"synced"`
	// NotSynced is how many are in each other state, as far as that is reported.
	NotSynced map[v1alpha1.MirrorState]int `json:"notSynced,omitempty"`
}

// configMapsOf returns the counts of the ConfigMapMirror, or else those of the condition ConfigMapsSynced, or nil
// if neither has any.
func configMapsOf(f Facts) *ConfigMaps {
	if f.Mirror != nil {
		counts := &ConfigMaps{Total: f.Mirror.Total, Synced: f.Mirror.Synced}
		for state, group := range f.Mirror.NotSynced {
			counts.add(state, group.Count)
		}
		return counts
	}
	if f.AddOn == nil {
		return nil
	}
	c := meta.FindStatusCondition(f.AddOn.Conditions, manifests.ConditionConfigMapsSynced)
	if c == nil {
		return nil
	}
	return countsIn(c.Message)
}

func (c *ConfigMaps) add(state v1alpha1.MirrorState, count int) {
	if count == 0 {
		return
	}
	if c.NotSynced == nil {
		c.NotSynced = map[v1alpha1.MirrorState]int{}
	}
	c.NotSynced[state] += count
}

var (
	syncedOf = regexp.MustCompile(`\b(\d+) of (\d+) ConfigMaps synced`)
	more     = regexp.MustCompile(` and (\d+) more$`)
	// namesOf finds the names that package condition of the agent lists after a word, for example
	// "; failed: a, b and 2 more: the API server's error". Names of ConfigMaps have no space and no colon.
	namesOf = map[v1alpha1.MirrorState]*regexp.Regexp{
		v1alpha1.MirrorConflict:  regexp.MustCompile(`; conflict: ([^;:]+)`),
		v1alpha1.MirrorFailed:    regexp.MustCompile(`; failed: ([^;:]+)`),
		v1alpha1.MirrorContested: regexp.MustCompile(`; contested: ([^;:]+)`),
	}
)

// countsIn returns the counts in the message of the condition ConfigMapsSynced, or nil if it has none. For
// example, "11 of 12 ConfigMaps synced; conflict: settings".
func countsIn(message string) *ConfigMaps {
	match := syncedOf.FindStringSubmatch(message)
	if match == nil {
		return nil
	}
	counts := &ConfigMaps{}
	var errs [2]error
	counts.Synced, errs[0] = strconv.Atoi(match[1])
	counts.Total, errs[1] = strconv.Atoi(match[2])
	if errs[0] != nil || errs[1] != nil {
		return nil
	}
	for state, names := range namesOf {
		if found := names.FindStringSubmatch(message); found != nil {
			counts.add(state, countNames(found[1]))
		}
	}
	return counts
}

// countNames returns how many names a list has. For example, 5 for "a, b, c and 2 more".
func countNames(names string) int {
	count := strings.Count(names, ",") + 1
	if match := more.FindStringSubmatch(names); match != nil {
		if n, err := strconv.Atoi(match[1]); err == nil {
			count += n
		}
	}
	return count
}

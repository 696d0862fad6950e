package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	rolloutv1alpha1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
)

// rules are a strategy, parsed.
type rules struct {
	kind      clusterv1alpha1.RolloutType
	mandatory []clusterv1alpha1.MandatoryDecisionGroup
	// deadline is how long a cluster may be in progress, soak how long it has to have succeeded.
	hasDeadline          bool
	deadline, soak       time.Duration
	failures, concurrent intstr.IntOrString
}

// parse returns the rules of a strategy. A missing type is All, as in the CRD.
func parse(strategy clusterv1alpha1.RolloutStrategy) (rules, error) {
	r := rules{kind: strategy.Type}
	var config clusterv1alpha1.RolloutConfig
	switch r.kind {
	case clusterv1alpha1.All, "":
		r.kind = clusterv1alpha1.All
		if strategy.All != nil {
			// All waits for no cluster, so it neither soaks nor counts failures.
			config.ProgressDeadline = strategy.All.ProgressDeadline
		}
	case clusterv1alpha1.Progressive:
		if progressive := strategy.Progressive; progressive != nil {
			config, r.concurrent = progressive.RolloutConfig, progressive.MaxConcurrency
			r.mandatory = progressive.MandatoryDecisionGroups.MandatoryDecisionGroups
		}
	case clusterv1alpha1.ProgressivePerGroup:
		if perGroup := strategy.ProgressivePerGroup; perGroup != nil {
			config = perGroup.RolloutConfig
			r.mandatory = perGroup.MandatoryDecisionGroups.MandatoryDecisionGroups
		}
	default:
		return r, fmt.Errorf("type %q is unknown: use All, Progressive or ProgressivePerGroup", r.kind)
	}
	r.soak, r.failures = config.MinSuccessTime.Duration, config.MaxFailures
	if deadline := config.ProgressDeadline; deadline != "" && deadline != "None" {
		var err error
		// The CRD's pattern and the handler's accept more than can be parsed, such as 5mm.
		if r.deadline, err = time.ParseDuration(deadline); err != nil || r.deadline < 0 {
			return r, fmt.Errorf("progressDeadline %q is invalid: use None, or a duration such as 10m", deadline)
		}
		r.hasDeadline = true
	}
	return r, nil
}

// phases returns the phases in their order.
func (r rules) phases(groups []Group) ([]phase, error) {
	var phases []phase
	rest := phase{name: "the placement"}
	var others []Group
	total := 0
	for _, group := range groups {
		total += len(group.Clusters)
		if slices.ContainsFunc(r.mandatory, func(m clusterv1alpha1.MandatoryDecisionGroup) bool { return names(m, group) }) {
			phases = append(phases, phase{name: "mandatory " + group.String(), clusters: group.Clusters})
			continue
		}
		others = append(others, group)
		rest.clusters = append(rest.clusters, group.Clusters...)
	}
	if r.kind == clusterv1alpha1.ProgressivePerGroup {
		for _, group := range others {
			tolerated, err := scale("maxFailures", r.failures, len(group.Clusters))
			if err != nil {
				return nil, err
			}
			phases = append(phases, phase{name: group.String(), clusters: group.Clusters, tolerated: tolerated})
		}
		return phases, nil
	}
	rest.tolerated = len(rest.clusters)
	if r.kind == clusterv1alpha1.Progressive {
		var err error
		// As in the handler, maxFailures is a share of all clusters, and maxConcurrency of the clusters that
		// are in no mandatory group.
		if rest.tolerated, err = scale("maxFailures", r.failures, total); err != nil {
			return nil, err
		}
		if rest.concurrency, err = scale("maxConcurrency", r.concurrent, len(rest.clusters)); err != nil {
			return nil, err
		}
		if r.concurrent.Type == intstr.String && strings.Trim(r.concurrent.StrVal, "0%") == "" {
			// The handler would update all clusters at once.
			return nil, fmt.Errorf("maxConcurrency %q is invalid: use at least 1", r.concurrent.StrVal)
		}
	}
	return append(phases, rest), nil
}

// absent returns which mandatory group has no cluster that takes part, or an empty string. OCM's handler
// goes on without it: a misspelled name, or a canary group that lost its clusters, would mean that the
// rollout has no gate. A group that is named by its index is not required, because how many groups there
// are depends on the number of clusters.
func (r rules) absent(groups []Group, states map[string]rolloutv1alpha1.RolloutStatus) string {
	takesPart := func(cluster string) bool { return states[cluster] != rolloutv1alpha1.Skip }
	if !slices.ContainsFunc(groups, func(group Group) bool { return slices.ContainsFunc(group.Clusters, takesPart) }) {
		return ""
	}
	for _, mandatory := range r.mandatory {
		if mandatory.GroupName != "" && !slices.ContainsFunc(groups, func(group Group) bool {
			return names(mandatory, group) && slices.ContainsFunc(group.Clusters, takesPart)
		}) {
			return fmt.Sprintf("mandatory decision group %s has no cluster that takes part", mandatory.GroupName)
		}
	}
	return ""
}

// names reports whether the strategy names the group. The name is considered first, then the index.
func names(mandatory clusterv1alpha1.MandatoryDecisionGroup, group Group) bool {
	if mandatory.GroupName != "" {
		return mandatory.GroupName == group.Name
	}
	return mandatory.GroupIndex == group.Index
}

// String returns how messages name the group.
func (g Group) String() string {
	if g.Name != "" {
		return fmt.Sprintf("decision group %s (index %d)", g.Name, g.Index)
	}
	return fmt.Sprintf("decision group %d", g.Index)
}

// scale returns a number, or a percentage of total rounded up, as OCM's handler rounds both fields.
// The CRD also allows a number as a string, which the handler rejects.
func scale(field string, value intstr.IntOrString, total int) (int, error) {
	text := value.String()
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return 0, fmt.Errorf("%s %q is invalid: use a number, or a percentage such as 10%%", field, text)
	}
	if percent {
		n = (n*total + 99) / 100
	}
	return n, nil
}

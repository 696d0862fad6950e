package steps

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	rolloutv1alpha1 "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// option changes the fields that all strategies have.
type option func(*clusterv1alpha1.RolloutConfig)

func deadline(text string) option {
	return func(c *clusterv1alpha1.RolloutConfig) { c.ProgressDeadline = text }
}

func soak(d time.Duration) option {
	return func(c *clusterv1alpha1.RolloutConfig) { c.MinSuccessTime = metav1.Duration{Duration: d} }
}

func tolerate(failures string) option {
	return func(c *clusterv1alpha1.RolloutConfig) { c.MaxFailures = intstr.Parse(failures) }
}

func config(options []option) (c clusterv1alpha1.RolloutConfig) {
	for _, o := range options {
		o(&c)
	}
	return c
}

func required(names []string) (m clusterv1alpha1.MandatoryDecisionGroups) {
	for _, name := range names {
		group := clusterv1alpha1.MandatoryDecisionGroup{GroupName: name}
		if name == "#1" {
			group = clusterv1alpha1.MandatoryDecisionGroup{GroupIndex: 1}
		}
		m.MandatoryDecisionGroups = append(m.MandatoryDecisionGroups, group)
	}
	return m
}

func all(options ...option) clusterv1alpha1.RolloutStrategy {
	return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.All, All: &clusterv1alpha1.RolloutAll{RolloutConfig: config(options)}}
}

func progressive(concurrency, mandatory string, options ...option) clusterv1alpha1.RolloutStrategy {
	return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive, Progressive: &clusterv1alpha1.RolloutProgressive{
		RolloutConfig: config(options), MandatoryDecisionGroups: required(strings.Fields(mandatory)), MaxConcurrency: intstr.Parse(concurrency)}}
}

func perGroup(mandatory string, options ...option) clusterv1alpha1.RolloutStrategy {
	return clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{
		RolloutConfig: config(options), MandatoryDecisionGroups: required(strings.Fields(mandatory))}}
}

// groupsOf returns the groups of a text such as "canary=a b|c d": a group for each part, by index.
func groupsOf(text string) (groups []Group) {
	for i, part := range strings.Split(text, "|") {
		name, clusters, named := strings.Cut(part, "=")
		if !named {
			name, clusters = "", part
		}
		groups = append(groups, Group{Name: name, Index: int32(i), Clusters: strings.Fields(clusters)})
	}
	return groups
}

// statesOf returns the states of a text such as "a=succeeded/60": the status, and its age in seconds.
func statesOf(t *testing.T, text string) func(string) State {
	t.Helper()
	states := map[string]State{}
	for _, field := range strings.Fields(text) {
		cluster, rest, _ := strings.Cut(field, "=")
		var word string
		var age int
		if _, err := fmt.Sscanf(strings.ReplaceAll(rest, "/", " "), "%s %d", &word, &age); err != nil {
			t.Fatalf("state %q: %v", field, err)
		}
		status, ok := map[string]rolloutv1alpha1.RolloutStatus{"progressing": rolloutv1alpha1.Progressing, "succeeded": rolloutv1alpha1.Succeeded,
			"failed": rolloutv1alpha1.Failed, "given-up": rolloutv1alpha1.TimeOut, "skip": rolloutv1alpha1.Skip}[word]
		if !ok {
			t.Fatalf("state %q: unknown status", field)
		}
		states[cluster] = State{Status: status, Since: now.Add(-time.Duration(age) * time.Second)}
	}
	return func(cluster string) State { return states[cluster] }
}

// TestDecide has the cases of the handler's own tables, as far as the answer of this package is the same, and others.
// https://github.com/open-cluster-management-io/sdk-go/blob/v1.3.0/pkg/apis/cluster/v1alpha1/rollout_test.go
func TestDecide(t *testing.T) {
	tests := []struct {
		name     string
		reason   string
		strategy clusterv1alpha1.RolloutStrategy
		groups   string
		states   string
		start    string
		timedOut string
		stopped  string
		recheck  int // seconds from now
	}{
		// All
		{"all, nothing there", "every cluster at once", all(deadline("90s")), "g=1 2|3 4 5 6", "", "1 2 3 4 5 6", "", "", 0},
		{"all, some there", "failures and timeouts do not stop All", all(deadline("90s")), "g=1 2|3 4 5 6",
			"1=succeeded/60 2=failed/120 3=progressing/120 4=failed/60 5=progressing/60", "6", "3", "", 30},
		{"all, no type", "the CRD's default", clusterv1alpha1.RolloutStrategy{}, "1 2", "1=failed/60", "2", "", "", 0},
		{"all, added", "joins at once", all(deadline("90s")), "g=1 2 7|3", "1=succeeded/60 2=progressing/60 3=succeeded/1", "7", "", "", 30},
		{"all, removed", "only the clusters of the groups count", all(deadline("90s")), "g=1|3 5",
			"1=succeeded/60 2=failed/120 3=progressing/120 4=failed/60 5=progressing/60", "", "3", "", 30},
		{"all does not soak", "All waits for no cluster", all(soak(time.Hour)), "1 2", "1=succeeded/0", "2", "", "", 0},

		// Progressive
		{"progressive, nothing there", "maxConcurrency", progressive("2", "", deadline("90s")), "g=1 2 3|4 5 6", "", "1 2", "", "", 0},
		{"progressive, across groups", "groups do not matter without mandatory ones", progressive("4", ""), "g=1 2 3|4 5 6", "", "1 2 3 4", "", "", 0},
		{"progressive, by name", "the order is that of the names", progressive("1", ""), "z|a", "", "a", "", "", 0},
		{"progressive, in progress", "a cluster in progress has a slot", progressive("2", "", deadline("90s")), "1 2 3|4 5 6",
			"1=succeeded/60 2=progressing/60", "3", "", "", 30},
		{"progressive, later in progress", "clusters that wait do not take the slot of a later one", progressive("1", ""), "1 2 3", "3=progressing/60", "", "", "", 0},
		{"progressive, full", "no slot", progressive("2", ""), "1 2 3|4", "1=progressing/60 2=progressing/60", "", "", "", 0},
		{"progressive, more in progress than slots", "maxConcurrency was lowered", progressive("1", ""), "1 2 3|4", "1=progressing/60 2=progressing/60", "", "", "", 0},
		{"progressive, no concurrency", "all at once", progressive("0", ""), "1 2 3|4", "1=succeeded/60", "2 3 4", "", "", 0},
		{"progressive, half", "of all clusters", progressive("50%", "", tolerate("100%")), "g=1 2|3 4 5 6",
			"1=succeeded/60 2=failed/120 3=progressing/60", "4", "", "", 0},
		{"progressive, a third rounds up", "as in the handler", progressive("34%", ""), "1 2 3", "", "1 2", "", "", 0},
		{"progressive, above the number", "all at once", progressive("9", ""), "1 2 3", "", "1 2 3", "", "", 0},
		{"progressive, number as string", "the CRD allows it", clusterv1alpha1.RolloutStrategy{Type: clusterv1alpha1.Progressive,
			Progressive: &clusterv1alpha1.RolloutProgressive{MaxConcurrency: intstr.FromString("2")}}, "1 2 3", "", "1 2", "", "", 0},
		{"progressive, failure stops", "no failure tolerated", progressive("50%", "", tolerate("0%")), "g=1 2|3 4 5 6",
			"1=succeeded/60 2=failed/120 3=progressing/60", "", "", "1 of 6 clusters of the placement failed, 0 tolerated", 0},
		{"progressive, failure after waiting", "a waiting cluster before it does not start", progressive("3", ""), "1 2 3", "2=failed/1", "", "",
			"1 of 3 clusters of the placement failed, 0 tolerated", 0},
		{"progressive, timeout stops", "a timeout is a failure", progressive("2", "", deadline("90s")), "1 2 3|4 5 6",
			"1=succeeded/60 2=progressing/120 3=progressing/60", "", "2", "1 of 6 clusters of the placement failed, 0 tolerated", 30},
		{"progressive, failure tolerated", "and its slot is free after the deadline", progressive("2", "", deadline("90s"), tolerate("1")), "g=1 2 3|4 5 6",
			"1=succeeded/60 2=failed/120 3=progressing/60", "4", "", "", 30},
		{"progressive, failure before its deadline", "it may recover, so it keeps its slot", progressive("1", "", deadline("90s"), tolerate("1")), "1 2",
			"1=failed/60", "", "", "", 30},
		{"progressive, deadline zero", "in progress is never waited for", progressive("2", "", deadline("0s"), tolerate("3")), "g=1 2 3|4 5 6",
			"1=succeeded/30 2=progressing/30 3=progressing/30", "4 5", "2 3", "", 0},
		{"progressive, more tolerated than clusters", "the handler tolerates none then", progressive("1", "", deadline("90s"), tolerate("5")), "1 2 3",
			"1=failed/120", "2", "", "", 0},
		{"progressive, given up", "takes no slot, counts as failure", progressive("1", "", tolerate("1")), "1 2 3", "1=given-up/0", "2", "", "", 0},
		{"progressive, skip", "takes no slot", progressive("1", ""), "1 2 3", "1=skip/0", "2", "", "", 0},
		{"progressive, soaks", "minSuccessTime", progressive("4", "", deadline("90s"), soak(time.Minute), tolerate("100%")), "g=1 2 3 4|5 6 7 8",
			"1=succeeded/30 2=progressing/60 3=progressing/30 4=succeeded/120", "5", "", "", 30},
		{"progressive, soaks exactly", "the time is over at its end", progressive("1", "", soak(time.Minute)), "1 2", "1=succeeded/60", "2", "", "", 0},
		{"progressive, removed", "only the clusters of the groups count", progressive("2", "", deadline("90s"), tolerate("100%")), "g=2 3|4 5 6",
			"1=progressing/60 2=failed/120 3=progressing/60", "4", "", "", 30},
		{"progressive, twice", "a cluster counts once", progressive("1", ""), "1 2|2", "2=failed/1", "", "", "1 of 2 clusters of the placement failed, 0 tolerated", 0},
		{"progressive, done", "nothing to do", progressive("1", "", deadline("90s"), soak(time.Minute)), "1 2", "1=succeeded/60 2=succeeded/90", "", "", "", 0},
		{"progressive, transposed", "a cluster is counted in its first group", progressive("1", "", deadline("90s")), "1 2|1 2", "1=progressing/1", "", "", "", 89},

		{"progressive, soaks, others in progress", "each has a slot", progressive("4", "", deadline("90s"), soak(time.Minute), tolerate("100%")), "g=1 2 3 4",
			"1=succeeded/30 2=progressing/60 3=progressing/30 4=succeeded/120", "", "", "", 30},

		// Progressive with mandatory groups
		{"mandatory first", "before other groups, regardless of maxConcurrency", progressive("1", "g"), "1 2|g=3 4", "", "3 4", "", "", 0},
		{"mandatory in progress", "others wait", progressive("3", "g", deadline("90s")), "g=1 2 3|4 5 6", "1=succeeded/60 2=succeeded/120 3=progressing/60", "", "", "", 30},
		{"mandatory timed out", "tolerates none", progressive("3", "g", deadline("90s"), tolerate("3")), "g=1 2 3|4 5 6",
			"1=succeeded/60 2=progressing/120 3=progressing/60", "", "2", "1 of 3 clusters of mandatory decision group g (index 0) failed, 0 tolerated", 30},
		{"mandatory given up", "tolerates none", progressive("1", "g", tolerate("3")), "g=1|2 3", "1=given-up/0", "", "",
			"1 of 1 clusters of mandatory decision group g (index 0) failed, 0 tolerated", 0},
		{"mandatory failed", "tolerates none", progressive("3", "g", deadline("90s")), "g=1 2|3 4|5 6", "1=failed/120 2=failed/60", "", "",
			"2 of 2 clusters of mandatory decision group g (index 0) failed, 0 tolerated", 30},
		{"mandatory succeeded", "others follow", progressive("3", "g"), "g=1 2|3 4|5 6", "1=succeeded/60 2=succeeded/120", "3 4 5", "", "", 0},
		{"mandatory soaks", "others wait", progressive("3", "g", soak(time.Minute)), "g=1|3 4", "1=succeeded/45", "", "", "", 15},
		{"mandatory succeeded, others failed", "a failure elsewhere does not hold the rollout", progressive("1", "m", deadline("90s"), tolerate("2")), "m=1|2 3 4",
			"1=succeeded/900 2=failed/900", "3", "", "", 0},
		{"mandatory succeeded, others failed without deadline", "a failure elsewhere does not hold the rollout", progressive("2", "m", tolerate("2")), "m=1|2 3 4",
			"1=succeeded/900 2=failed/900", "3", "", "", 0},
		{"mandatory removed", "its failure does not count any more", progressive("2", "g", deadline("90s")), "g=1 3|4 5 6",
			"1=succeeded/60 2=failed/120 3=succeeded/60", "4 5", "", "", 0},
		{"mandatory joined", "it comes before the others", progressive("3", "g", deadline("90s")), "g=1 2 7|3 4 8|5 6 9",
			"1=succeeded/60 2=succeeded/60 3=succeeded/60 4=progressing/60 5=progressing/60", "7", "", "", 30},
		{"mandatory twice", "one after the other, by index", progressive("3", "b a"), "1|a=2|b=3", "", "2", "", "", 0},
		{"mandatory by index", "no name", progressive("3", "#1"), "1|2|3", "", "2", "", "", 0},
		{"mandatory by index, absent", "how many groups there are depends on the clusters", progressive("3", "#1"), "1 2", "", "1 2", "", "", 0},
		{"mandatory absent", "no gate is no permission", progressive("3", "g"), "h=1|2", "", "", "", "mandatory decision group g has no cluster that takes part", 0},
		{"mandatory empty", "no gate is no permission", perGroup("g"), "g=|2", "", "", "", "mandatory decision group g has no cluster that takes part", 0},
		{"mandatory skipped", "no gate is no permission", perGroup("g"), "g=1|2", "1=skip/0", "", "", "mandatory decision group g has no cluster that takes part", 0},
		{"mandatory skipped in part", "one cluster is a gate", perGroup("g"), "g=1 2|3", "1=skip/0", "2", "", "", 0},
		{"all skipped", "nothing to do", perGroup("g"), "2|3", "2=skip/0 3=skip/0", "", "", "", 0},
		{"share of all, not of the rest", "as in the handler", progressive("1", "m", deadline("90s"), tolerate("50%")), "m=1 2|3 4",
			"1=succeeded/900 2=succeeded/900 3=failed/900 4=failed/900", "", "", "", 0},
		{"concurrency of the rest", "as in the handler", progressive("50%", "m"), "m=1 2|3 4", "1=succeeded/900 2=succeeded/900", "3", "", "", 0},

		// ProgressivePerGroup
		{"per group, nothing there", "the first group", perGroup("", deadline("90s")), "g=1 2 3|4 5 6", "", "1 2 3", "", "", 0},
		{"per group, in progress", "the rest of the group", perGroup("", deadline("90s")), "g=1 2 3|4 5 6", "1=progressing/60", "2 3", "", "", 30},
		{"per group, by index", "not by position", perGroup(""), "|1|2", "", "1", "", "", 0},
		{"per group, timed out", "stops", perGroup("", deadline("90s")), "g=1 2 3|4 5 6", "1=succeeded/60 2=progressing/120 3=progressing/60", "", "2",
			"1 of 3 clusters of decision group g (index 0) failed, 0 tolerated", 30},
		{"per group, tolerated", "the next group", perGroup("", deadline("90s"), tolerate("2")), "g=1 2 3|4 5 6|7 8 9",
			"1=succeeded/60 2=progressing/120 3=succeeded/60", "4 5 6", "2", "", 0},
		{"per group, tolerated, second done", "the third group", perGroup("", deadline("90s"), tolerate("2")), "g=1 2|3 4|5 6",
			"1=succeeded/60 2=failed/120 3=succeeded/60 4=succeeded/60", "5 6", "", "", 0},
		{"per group, tolerated, one waits", "the next group begins when this one is done", perGroup("", deadline("90s"), tolerate("1")), "1 2 3|4 5",
			"1=progressing/120 3=succeeded/60", "2", "1", "", 0},
		{"per group, failing without deadline", "stops", perGroup(""), "g=1 2 3|4 5 6", "1=succeeded/60 2=failed/120 3=succeeded/60", "", "",
			"1 of 3 clusters of decision group g (index 0) failed, 0 tolerated", 0},
		{"per group, failing, tolerated, without deadline", "a tolerated failure is not waited for", perGroup("", tolerate("2")), "g=1 2 3|4 5 6",
			"1=succeeded/60 2=failed/120 3=succeeded/60", "4 5 6", "", "", 0},
		{"per group, 30 %", "of each group, rounded up", perGroup("", tolerate("30%")), "g=1 2 3|4 5 6", "1=succeeded/60 2=failed/120 3=failed/120", "", "",
			"2 of 3 clusters of decision group g (index 0) failed, 1 tolerated", 0},
		{"per group, failed before waiting", "a stopped group starts nothing", perGroup(""), "1 2 3", "1=failed/1", "", "",
			"1 of 3 clusters of decision group 0 failed, 0 tolerated", 0},
		{"per group, small group", "more tolerated than clusters", perGroup("", tolerate("2")), "1|2 3", "1=failed/1", "2 3", "", "", 0},
		{"per group, mandatory failing", "tolerates none", perGroup("g", deadline("90s"), tolerate("2")), "g=1 2 3|4 5 6",
			"1=succeeded/60 2=progressing/120 3=succeeded/60", "", "2", "1 of 3 clusters of mandatory decision group g (index 0) failed, 0 tolerated", 0},
		{"per group, mandatory succeeded", "the next group", perGroup("g", deadline("90s")), "g=1 2 3|4 5 6|7", "1=succeeded/60 2=succeeded/60 3=succeeded/60",
			"4 5 6", "", "", 0},
		{"per group, soaks", "minSuccessTime", perGroup("", deadline("90s"), soak(time.Minute), tolerate("50%")), "g=1 2 3|h=4 5",
			"1=succeeded/30 2=succeeded/120 3=progressing/30", "", "", "", 30},
		{"per group, added", "it joins, later groups wait", perGroup("", deadline("90s")), "g=1 2 3|4 5 6",
			"1=succeeded/60 2=succeeded/60 4=progressing/60 5=progressing/60", "3", "", "", 30},
		{"per group, removed", "only the clusters of the groups count", perGroup("", deadline("90s")), "g=1 3|4 5 6",
			"1=succeeded/60 2=failed/60 3=progressing/60", "", "", "", 30},
		{"per group, removed, another timed out", "the next group", perGroup("", deadline("90s"), tolerate("2")), "g=1 3|4 5 6",
			"1=succeeded/60 2=failed/60 3=progressing/120", "4 5 6", "3", "", 0},
		{"per group, removed from mandatory", "its failure does not count any more", perGroup("g", deadline("90s")), "g=1 3|4 5 6|7 8 9",
			"1=succeeded/60 2=failed/120 3=succeeded/60", "4 5 6", "", "", 0},
		{"no clusters", "nothing to do, also with a mandatory group", perGroup("g"), "", "", "", "", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decide(test.strategy, groupsOf(test.groups), statesOf(t, test.states), now)
			if err != nil {
				t.Fatal(err)
			}
			want := Decision{Start: strings.Fields(test.start), TimedOut: strings.Fields(test.timedOut), Stopped: test.stopped}
			if test.recheck > 0 {
				want.Recheck = now.Add(time.Duration(test.recheck) * time.Second)
			}
			if len(want.Start) == 0 {
				want.Start = nil
			}
			if len(want.TimedOut) == 0 {
				want.TimedOut = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestIndexGap(t *testing.T) {
	groups := []Group{{Index: 7, Clusters: []string{"z"}}, {Index: 2, Clusters: []string{"b"}}, {Name: "x", Index: 2, Clusters: []string{"b", "c"}}}
	want := []string{"b", "c", "z"}
	for range 20 {
		got, err := Decide(all(), groups, statesOf(t, ""), now)
		if diff := cmp.Diff(want, got.Start); err != nil || diff != "" {
			t.Fatalf("an index that is missing or used twice loses no cluster: %v\n%s", err, diff)
		}
	}
	if groups[0].Index != 7 || len(groups[2].Clusters) != 2 {
		t.Error("Decide changed its input")
	}
}

func TestInvalid(t *testing.T) {
	tests := []struct {
		name     string
		strategy clusterv1alpha1.RolloutStrategy
		want     string
	}{
		{"type", clusterv1alpha1.RolloutStrategy{Type: "Canary"}, `type "Canary" is unknown: use All, Progressive or ProgressivePerGroup`},
		{"deadline that the CRD accepts", all(deadline("5mm")), `progressDeadline "5mm" is invalid: use None, or a duration such as 10m`},
		{"negative deadline", all(deadline("-5m")), `progressDeadline "-5m" is invalid: use None, or a duration such as 10m`},
		{"maxFailures", progressive("1", "", tolerate("many")), `maxFailures "many" is invalid: use a number, or a percentage such as 10%`},
		{"maxFailures of a group", perGroup("", tolerate("-1")), `maxFailures "-1" is invalid: use a number, or a percentage such as 10%`},
		{"maxConcurrency", progressive("101%", ""), `maxConcurrency "101%" is invalid: use a number, or a percentage such as 10%`},
		{"maxConcurrency zero", progressive("0%", ""), `maxConcurrency "0%" is invalid: use at least 1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decide(test.strategy, groupsOf("1 2"), statesOf(t, ""), now)
			if err == nil || err.Error() != test.want {
				t.Errorf("got error %v, want %s", err, test.want)
			}
			if len(got.Start) > 0 {
				t.Errorf("an invalid strategy starts %v", got.Start)
			}
		})
	}
}

// TestRandom checks for random strategies and states what must hold for all.
func TestRandom(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 3000 {
		mandatory := []string{"", "g0", "g1", "g2 g0"}[random.Intn(4)]
		failures := []string{"0", "1", "2", "50%", "100%"}[random.Intn(5)]
		concurrency := random.Intn(5)
		options := []option{tolerate(failures), deadline([]string{"None", "60s"}[random.Intn(2)]), soak(time.Duration(random.Intn(2)) * time.Minute)}
		strategy := []clusterv1alpha1.RolloutStrategy{progressive(fmt.Sprint(concurrency), mandatory, options...), perGroup(mandatory, options...)}[random.Intn(2)]
		states := map[string]State{}
		groups := make([]Group, 3)
		inFlight := func(state State) bool {
			return state.Status == rolloutv1alpha1.Progressing || state.Status == rolloutv1alpha1.Failed || state.Status == rolloutv1alpha1.Succeeded && state.Since.After(now.Add(-time.Minute))
		}
		for i := range groups {
			groups[i] = Group{Name: fmt.Sprintf("g%d", i), Index: int32(i)}
			for j := range random.Intn(4) {
				name := fmt.Sprintf("c%d%d", i, j)
				groups[i].Clusters = append(groups[i].Clusters, name)
				states[name] = State{Status: rolloutv1alpha1.RolloutStatus(random.Intn(6)), Since: now.Add(-time.Duration(random.Intn(120)) * time.Second)}
			}
		}
		decide := func() Decision {
			decision, err := Decide(strategy, groups, func(cluster string) State { return states[cluster] }, now)
			if err != nil {
				t.Fatal(err)
			}
			return decision
		}
		got := decide()
		if !slices.IsSorted(got.Start) || got.Stopped != "" && len(got.Start) > 0 {
			t.Fatalf("%+v starts %v, stopped by %q", states, got.Start, got.Stopped)
		}
		before := maps.Clone(states)
		for _, name := range got.Start {
			if states[name].Status != rolloutv1alpha1.ToApply {
				t.Fatalf("%s is started with status %v", name, states[name].Status)
			}
			states[name] = State{Status: rolloutv1alpha1.Progressing, Since: now}
		}
		if again := decide(); len(again.Start) > 0 {
			t.Fatalf("after the start of %v, %v are started: %+v", got.Start, again.Start, before)
		}
		if strategy.Type == clusterv1alpha1.Progressive && concurrency > 0 && len(got.Start) > 0 {
			flying := 0
			isMandatory := false
			for i, group := range groups {
				for _, name := range group.Clusters {
					if strings.Contains(mandatory, fmt.Sprintf("g%d", i)) {
						isMandatory = isMandatory || slices.Contains(got.Start, name)
					} else if inFlight(states[name]) && !slices.Contains(got.TimedOut, name) {
						timedOut := states[name].Status != rolloutv1alpha1.Succeeded && strategy.Progressive.ProgressDeadline == "60s" && !states[name].Since.After(now.Add(-time.Minute))
						soaked := states[name].Status == rolloutv1alpha1.Succeeded && strategy.Progressive.MinSuccessTime.Duration == 0
						if !timedOut && !soaked {
							flying++
						}
					}
				}
			}
			if !isMandatory && flying > concurrency {
				t.Fatalf("%d in flight with maxConcurrency %d: %+v", flying, concurrency, states)
			}
		}
		slices.Reverse(groups)
		for i := range groups {
			slices.Reverse(groups[i].Clusters)
		}
		states = before
		if diff := cmp.Diff(got, decide()); diff != "" {
			t.Fatalf("the order of the groups and clusters matters:\n%s", diff)
		}
	}
}

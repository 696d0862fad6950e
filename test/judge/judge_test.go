package judge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// counts are the numbers of what the generated cases had, so that no rule is left out by chance.
type counts struct {
	cases, valid int
	// first counts the first condition that failed, only those where no other failed.
	first, only map[registration.Condition]int
	actions     map[registration.Action]int
}

func newCounts() *counts {
	return &counts{first: map[registration.Condition]int{}, only: map[registration.Condition]int{}, actions: map[registration.Action]int{}}
}

func (c *counts) add(v registration.Verdict) {
	c.cases++
	c.actions[v.Action]++
	if v.Valid {
		c.valid++
	}
	if len(v.Failed) > 0 {
		c.first[v.Failed[0].Condition]++
	}
	if len(v.Failed) == 1 {
		c.only[v.Failed[0].Condition]++
	}
}

// comparison compares the judge with OCM's code.
type comparison struct {
	oracle oracle
	keys   keys
	counts *counts
}

func newComparison(t *testing.T) comparison {
	t.Helper()
	return comparison{oracle: oracle{dir: filepath.Join(t.TempDir(), "pod"), client: fake.NewClientset()}, keys: newKeys(t), counts: newCounts()}
}

// judged is the judge's verdict in the words of the oracle.
func judged(v registration.Verdict) answer {
	return answer{Valid: v.Valid, Exits: v.Action == registration.Exits,
		Requests: v.Action == registration.Renews || v.Action == registration.Joins || v.Action == registration.Retries}
}

// disagree returns both answers if they differ.
func (c comparison) disagree(t *testing.T, driver registration.Driver, changes []change) (registration.Verdict, string) {
	t.Helper()
	s := newSample(t, c.keys, driver)
	random := false
	for _, change := range changes {
		change.make(s)
		random = random || change.between
	}
	facts := s.facts(t)
	verdict := registration.Judge(facts)
	want, got := c.oracle.ask(t, facts), judged(verdict)
	if stuck := verdict.Action == registration.Stuck; random || stuck {
		// OCM decides at random, or its request does not reach the hub.
		got.Requests = want.Requests
	}
	if want == got {
		return verdict, ""
	}
	return verdict, fmt.Sprintf("OCM: %+v\njudge: %+v\nfailed: %v\nbootstraps: %v\noverlooked: %v\naction: %s: %s",
		want, got, verdict.Failed, verdict.Bootstraps, verdict.Overlooked, verdict.Action, verdict.WillDo)
}

// compare reports a disagreement with as few changes as possible.
func (c comparison) compare(t *testing.T, driver registration.Driver, changes []change) registration.Verdict {
	t.Helper()
	verdict, difference := c.disagree(t, driver, changes)
	c.counts.add(verdict)
	if difference == "" {
		return verdict
	}
	for i := 0; i < len(changes); {
		fewer := slices.Delete(slices.Clone(changes), i, i+1)
		if _, still := c.disagree(t, driver, fewer); still == "" {
			i++
			continue
		}
		changes = fewer
	}
	_, difference = c.disagree(t, driver, changes)
	t.Errorf("%s driver, a valid hub kubeconfig with: %s\n%s", driver, strings.Join(namesOf(changes), "; "), difference)
	return verdict
}

func namesOf(changes []change) []string {
	names := make([]string, 0, len(changes))
	for _, c := range changes {
		names = append(names, c.name)
	}
	return names
}

// TestSingle: each failure is named by its condition, and with each variant beside it OCM
// agrees.
func TestSingle(t *testing.T) {
	t.Parallel()
	c := newComparison(t)
	for _, driver := range []registration.Driver{registration.CSR, registration.Token} {
		if v := c.compare(t, driver, nil); !v.Valid || v.Action != registration.Works {
			t.Errorf("nothing changed: %+v", v)
		}
		for _, variant := range variants {
			c.compare(t, driver, []change{variant})
		}
		for _, f := range failures {
			if f.driver != "" && f.driver != driver {
				continue
			}
			v := c.compare(t, driver, []change{f.change})
			if f.condition != "" && (len(v.Failed) != 1 || v.Failed[0].Condition != f.condition) {
				t.Errorf("%s: failed %v, want only %s", f.name, v.Failed, f.condition)
			}
			if f.condition == "" && (v.Valid || len(v.Failed) != 0 || len(v.Bootstraps) != 1) {
				t.Errorf("%s: failed %v, bootstrap kubeconfigs %v", f.name, v.Failed, v.Bootstraps)
			}
			for _, variant := range variants {
				c.compare(t, driver, []change{variant, f.change})
			}
		}
	}
	t.Logf("%+v", *c.counts)
	if c.counts.cases < 3000 {
		t.Errorf("only %d cases", c.counts.cases)
	}
}

// random are the generated cases beside those of TestSingle.
const random = 3000

// TestRandom: OCM agrees about combinations of several variants and failures.
func TestRandom(t *testing.T) {
	t.Parallel()
	c := newComparison(t)
	source := rand.New(rand.NewPCG(14, 2))
	for range random {
		driver := registration.CSR
		if source.IntN(5) == 0 {
			driver = registration.Token
		}
		var changes []change
		for range source.IntN(4) {
			changes = append(changes, variants[source.IntN(len(variants))])
		}
		for range source.IntN(4) {
			if f := failures[source.IntN(len(failures))]; f.driver == "" || f.driver == driver {
				changes = append(changes, f.change)
			}
		}
		source.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		c.compare(t, driver, changes)
	}
	t.Logf("%+v", *c.counts)
	c.counts.suffice(t)
}

// suffice checks that each answer was frequent.
func (c *counts) suffice(t *testing.T) {
	t.Helper()
	const valid, each, alone, action = 500, 4, 3, 10
	if c.valid < valid {
		t.Errorf("%d cases, %d valid", c.cases, c.valid)
	}
	conditions := map[registration.Condition]bool{}
	for _, f := range failures {
		conditions[f.condition] = f.condition != ""
	}
	for condition, has := range conditions {
		if has && (c.first[condition] < each || c.only[condition] < alone) {
			t.Errorf("%s was the first condition to fail %d times and the only one %d times", condition, c.first[condition], c.only[condition])
		}
	}
	for _, a := range []registration.Action{registration.Works, registration.Renews, registration.Joins, registration.Retries,
		registration.Waits, registration.Stuck, registration.Exits} {
		if c.actions[a] < action {
			t.Errorf("the agent %s %d times, of %v", a, c.actions[a], slices.Collect(maps.Keys(c.actions)))
		}
	}
}

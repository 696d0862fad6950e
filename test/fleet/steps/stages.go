package steps

import (
	"fmt"
	"strings"
	"time"
)

// The part of the clusters that a set writes to, and its stages as percentages that add up.
const (
	mostOfPart  = 100
	firstStage  = 20
	secondStage = 50
)

// partOf returns how many of n clusters are the part: half of them, at most 100.
func partOf(n int) int { return min((n+1)/2, mostOfPart) }

// step is a decision group of the rollout.
type step struct {
	name     string
	clusters []string
}

// lastStep has the clusters of the last stage.
const lastStep = "third"

// stepsOf divides clusters into stages of 20, 30 and 50 %, and each of the first two into halves that follow each other:
// OCM's maxConcurrency is for clusters in no mandatory group, here those of the last stage. A step without clusters is
// left out.
func stepsOf(clusters []string) []step {
	n := len(clusters)
	first, second := (n*firstStage+99)/100, (n*secondStage+99)/100
	var steps []step
	for _, s := range []struct {
		name     string
		from, to int
	}{
		{"first-a", 0, (first + 1) / 2}, {"first-b", (first + 1) / 2, first},
		{"second-a", first, (first + second + 1) / 2}, {"second-b", (first + second + 1) / 2, second}, {lastStep, second, n},
	} {
		if s.from < s.to {
			steps = append(steps, step{s.name, clusters[s.from:s.to]})
		}
	}
	return steps
}

// groupsFor returns the decisionGroups of a Placement.
func groupsFor(steps []step) []any {
	var all []any
	for _, s := range steps {
		all = append(all, map[string]any{"groupName": s.name,
			"groupClusterSelector": map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{stageLabel: s.name}}}})
	}
	return all
}

// strategyFor returns the rollout strategy: one step after the other, and half of the last one at a time.
func strategyFor(steps []step) string {
	var mandatory []string
	for _, s := range steps {
		if s.name != lastStep {
			mandatory = append(mandatory, fmt.Sprintf(`{"groupName":%q}`, s.name))
		}
	}
	return fmt.Sprintf(`{"type":"Progressive","progressive":{"mandatoryDecisionGroups":[%s],"maxConcurrency":"50%%","maxFailures":0,"progressDeadline":"10m"}}`,
		strings.Join(mandatory, ","))
}

// overtakes returns how many steps have a cluster that was done before the last one of the step before.
func overtakes(steps []step, done map[string]time.Time) int {
	var end time.Time
	n := 0
	for _, s := range steps {
		last, early := end, false
		for _, cluster := range s.clusters {
			at := done[cluster]
			early = early || at.Before(end)
			if at.After(last) {
				last = at
			}
		}
		if early {
			n++
		}
		end = last
	}
	return n
}

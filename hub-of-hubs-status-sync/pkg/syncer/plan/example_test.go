package plan_test

import (
	"fmt"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/syncer/plan"
)

// The sync owns the PlacementDecisions of a Placement: it updates the one that
// differs, creates the missing one, and deletes the one that is no longer desired.
func ExamplePlan() {
	decisions := func(clusters ...any) []status.Field {
		return []status.Field{{Path: []string{"status", "decisions"}, Value: clusters}}
	}
	present := func(name string, fields []status.Field) plan.Present {
		return plan.Present{Object: plan.Object{Name: name}, Content: plan.NewContent(fields)}
	}
	for _, action := range plan.Plan(status.Entry{Creates: true},
		[]plan.Present{
			present("rollout-decision-1", decisions("cluster1")),
			present("rollout-decision-2", decisions("cluster2")),
			present("rollout-decision-9", decisions("cluster9")),
		},
		[]status.Desired{
			{Name: "rollout-decision-1", Fields: decisions("cluster1")},
			{Name: "rollout-decision-2", Fields: decisions("cluster2", "cluster3")},
			{Name: "rollout-decision-3", Fields: decisions("cluster4")},
		}) {
		fmt.Println(action.Verb, action.Name())
	}
	// Output:
	// update rollout-decision-2
	// create rollout-decision-3
	// delete rollout-decision-9
}

// A row changes while the key is synced: the key is synced once more.
func ExampleProgress() {
	var progress plan.Progress
	now := time.Unix(0, 0)
	progress.Touch(plan.ObjectChanged, now) // queued
	progress.Begin(now)                     // running
	progress.Request(now, now)              // requeued
	progress.End(now, time.Millisecond, nil)
	fmt.Println(progress.Pending.Cause == plan.Requested)
	progress.Begin(now)
	progress.End(now, time.Millisecond, nil)
	fmt.Println(progress == plan.Progress{}) // idle, nothing to remember
	// Output:
	// true
	// true
}

package measure

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/report"
)

// Options set how much is measured, and with what.
type Options struct {
	// Subjects to measure, of report.Subjects.
	Subjects []string
	// Changes and Deletions are how many are made one after the other.
	Changes, Deletions int
	// Others is how many further ConfigMaps are there for the second half of the
	// changes, for the first idle time and for the restart.
	Others int
	// Deleted is how many are deleted while the agent is down.
	Deleted int
	// Bulk is how many are created at once.
	Bulk int
	// Many is how many there are for the second idle time.
	Many int
	// Idle is how long nothing happens; Settle is let pass before.
	Idle, Settle time.Duration
	// Patience bounds the wait for one copy, Limit that for many.
	Patience, Limit time.Duration

	// Sandbox is ocm-sandbox and its flags, Kubectl a program, Deploy the
	// directory with the add-on's manifests.
	Sandbox, Kubectl, Deploy string
	// Image is the add-on's, ImageRoot the directory laid out like it.
	Image, ImageRoot string
	// FloorRoot and RivalRoot are the others' images, RivalDeploy the rival's
	// manifests.
	FloorRoot, RivalRoot, RivalDeploy string
	// JSON is the file for the rows; empty for none.
	JSON string
	// Out gets the table, Log what is going on.
	Out, Log io.Writer
}

// Full is a whole run. Idle is longer than the two minutes after which Go
// collects garbage at the latest, so that the memory is what stays in use.
func Full() Options {
	return Options{
		Subjects: slices.Clone(report.Subjects),
		Changes:  300, Deletions: 300, Others: 1000, Deleted: 100, Bulk: 2000, Many: 5000,
		Idle: 150 * time.Second, Settle: 10 * time.Second, Patience: 10 * time.Second, Limit: 15 * time.Minute,
	}
}

// Quicken makes a run of minutes of it, to see that everything works; its
// figures say little. What was set explicitly stays.
func (o *Options) Quicken(explicit func(flag string) bool) {
	for flag, n := range map[string]struct {
		value *int
		quick int
	}{
		"changes": {&o.Changes, 50}, "deletions": {&o.Deletions, 10}, "others": {&o.Others, 50},
		"deleted": {&o.Deleted, 5}, "bulk": {&o.Bulk, 200}, "many": {&o.Many, 300},
	} {
		if !explicit(flag) {
			*n.value = n.quick
		}
	}
	for flag, d := range map[string]struct {
		value *time.Duration
		quick time.Duration
	}{
		"idle": {&o.Idle, 15 * time.Second}, "settle": {&o.Settle, 3 * time.Second},
		"patience": {&o.Patience, 5 * time.Second}, "limit": {&o.Limit, 2 * time.Minute},
	} {
		if !explicit(flag) {
			*d.value = d.quick
		}
	}
}

// Validate reports every problem, naming flag and value.
func (o *Options) Validate() error {
	var problems []error
	for flag, n := range map[string]int{"changes": o.Changes, "deletions": o.Deletions, "others": o.Others, "bulk": o.Bulk} {
		if n < 1 {
			problems = append(problems, fmt.Errorf("--%s=%d: give at least 1", flag, n))
		}
	}
	if o.Deleted < 0 {
		problems = append(problems, fmt.Errorf("--deleted=%d: give 0 or more", o.Deleted))
	}
	if least := 1 + o.Others + o.Bulk; o.Many < least {
		problems = append(problems, fmt.Errorf("--many=%d: give at least %d, which are there by then (1 + --others + --bulk)", o.Many, least))
	}
	for flag, d := range map[string]time.Duration{"idle": o.Idle, "patience": o.Patience, "limit": o.Limit} {
		if d < time.Second {
			problems = append(problems, fmt.Errorf("--%s=%s: give at least 1s", flag, d))
		}
	}
	if o.Settle < 0 {
		problems = append(problems, fmt.Errorf("--settle=%s: give 0 or more", o.Settle))
	}
	if len(o.Subjects) == 0 {
		problems = append(problems, fmt.Errorf("--subjects is empty: name some of %s", strings.Join(report.Subjects, ",")))
	}
	for _, subject := range o.Subjects {
		if !slices.Contains(report.Subjects, subject) {
			problems = append(problems, fmt.Errorf("--subjects has %q: the subjects are %s", subject, strings.Join(report.Subjects, ",")))
		}
	}
	problems = append(problems, o.validatePaths()...)
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

func (o *Options) validatePaths() []error {
	needed := map[string]string{"sandbox": o.Sandbox, "kubectl": o.Kubectl}
	for _, subject := range o.Subjects {
		switch subject {
		case report.Floor:
			needed["floor-root"] = o.FloorRoot
		case report.Ours:
			needed["image"], needed["image-root"], needed["deploy"] = o.Image, o.ImageRoot, o.Deploy
		case report.Rival:
			needed["rival-root"], needed["rival-deploy"] = o.RivalRoot, o.RivalDeploy
		}
	}
	var problems []error
	for flag, value := range needed {
		if value == "" {
			problems = append(problems, fmt.Errorf("--%s is empty: make bench sets it", flag))
		}
	}
	return problems
}

// settings are the numbers of the run, for the document.
func (o *Options) settings() map[string]string {
	return map[string]string{
		"changes": fmt.Sprint(o.Changes), "deletions": fmt.Sprint(o.Deletions), "others": fmt.Sprint(o.Others),
		"deleted": fmt.Sprint(o.Deleted), "bulk": fmt.Sprint(o.Bulk), "many": fmt.Sprint(o.Many),
		"idle": o.Idle.String(), "settle": o.Settle.String(), "patience": o.Patience.String(), "limit": o.Limit.String(),
	}
}

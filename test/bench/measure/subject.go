package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/requests"
	"open-cluster-management.io/helloworld-addon/test/bench/sandbox"
	"open-cluster-management.io/helloworld-addon/test/bench/subject"
	"open-cluster-management.io/helloworld-addon/test/bench/track"
)

// installLimit bounds the time from the installation to the first copy.
const installLimit = 3 * time.Minute

// changed is the ConfigMap that is changed again and again.
const changed = "bench-changed"

// measurement is one subject's.
type measurement struct {
	Options
	*log
	subject    *subject.Subject
	sandbox    *sandbox.Sandbox
	turn       *turn
	supervisor int
	hub        *hub
	copies     *track.Copies
	counters   counters
	rows       []report.Row
}

// counters are those of the agent on both sides, and of the controller, which
// the floor has none of.
type counters struct{ hub, managed, controller *requests.Counter }

// measureSubject starts a sandbox, measures and ends the sandbox. The rows are
// what was measured, also when there is an error.
func measureSubject(ctx context.Context, options Options, s *subject.Subject, l *log, t *turn) (rows []report.Row, err error) {
	defer t.end()
	size, err := s.BinarySize()
	if err != nil {
		return nil, err
	}
	l.say("a fresh sandbox")
	box, err := sandbox.Up(ctx, sandbox.Options{
		Command: strings.Fields(options.Sandbox), Kubectl: options.Kubectl, Images: []string{s.Image}, Out: l,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Down(ctx)) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	m := &measurement{Options: options, log: l, subject: s, sandbox: box, turn: t}
	defer func() { rows = m.rows }()
	if err := m.install(ctx, watching); err != nil {
		m.diagnose(ctx)
		return nil, fmt.Errorf("install: %w", err)
	}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	if err := m.steps(ctx); err != nil {
		m.diagnose(ctx)
		return nil, err
	}
	m.add("binary size of the agent", "", "", "MB", megabytes(size), "")
	return nil, nil
}

// install brings the subject up, until its first copy is there.
func (m *measurement) install(ctx, watching context.Context) (err error) {
	if m.supervisor, err = procfs.Supervisor(m.sandbox.Dir); err != nil {
		return err
	}
	if err := m.count(ctx); err != nil {
		return err
	}
	m.hub = &hub{client: m.sandbox.Hub.CoreV1().ConfigMaps(sandbox.Cluster)}
	if m.copies, err = track.Watch(watching, m.sandbox.Managed.CoreV1().ConfigMaps(subject.Namespace), markKey); err != nil {
		return err
	}
	m.copies.Progress = func(o track.Outcome) { m.say("  %s", progress(o)) }
	m.say("install it")
	marks, err := m.hub.create(ctx, changed)
	if err != nil {
		return err
	}
	if err := m.subject.Install(ctx, m.sandbox); err != nil {
		return err
	}
	outcome, err := m.copies.Await(ctx, marks, installLimit)
	if err != nil {
		return err
	}
	if !outcome.Done() {
		return fmt.Errorf("no copy within %s", installLimit)
	}
	return nil
}

func (m *measurement) count(ctx context.Context) (err error) {
	c, s := &m.counters, m.subject
	if c.hub, err = requests.Install(ctx, m.sandbox.Hub, "agent", 0, s.HubUsers...); err != nil {
		return err
	}
	if c.managed, err = requests.Install(ctx, m.sandbox.Managed, "agent", 0, s.ManagedUsers()...); err != nil {
		return err
	}
	if len(s.ControllerUsers) > 0 {
		c.controller, err = requests.Install(ctx, m.sandbox.Hub, "controller", 10, s.ControllerUsers...)
	}
	return err
}

// steps are the same for every subject.
func (m *measurement) steps(ctx context.Context) error {
	setting := report.Count(m.Changes) + " changes"
	few, many := 1+m.Others, m.Many
	var anonFew, anonMany float64
	for _, step := range []func() error{
		func() error { return m.warmUp(ctx) },
		func() error { return m.changes(ctx, setting) },
		func() error { return m.deletions(ctx) },
		func() error { return m.fill(ctx, "other", m.Others) },
		func() error { return m.changes(ctx, report.Among(setting, m.Others)) },
		func() (err error) { anonFew, err = m.idle(ctx, few); return err },
		func() error { return m.restart(ctx) },
		func() error { return m.bulk(ctx) },
		func() error { return m.fill(ctx, "further", many-few-m.Bulk) },
		func() (err error) { anonMany, err = m.idle(ctx, many); return err },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	m.addGrowth(anonFew, anonMany, few, many)
	return m.addRestarts(ctx)
}

func (m *measurement) add(metric, setting, stat, unit string, value float64, note string) {
	m.rows = append(m.rows, report.Row{
		Subject: m.subject.Name, Metric: metric, Setting: setting, Stat: stat, Unit: unit, Value: report.Number(value), Note: note,
	})
}

func progress(o track.Outcome) string {
	return fmt.Sprintf("%s of %s copies are right", report.Count(o.Right), report.Count(o.Total))
}

// shortfall is the note on what was not all there within the limit.
func shortfall(o track.Outcome, limit time.Duration) string {
	if o.Done() {
		return ""
	}
	return fmt.Sprintf("after %s %s", limit, progress(o))
}

// megabytes are of a million bytes.
func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

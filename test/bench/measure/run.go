package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"open-cluster-management.io/helloworld-addon/test/bench/procfs"
	"open-cluster-management.io/helloworld-addon/test/bench/report"
	"open-cluster-management.io/helloworld-addon/test/bench/subject"
)

// Run measures the subjects side by side, and prints what it has, also when one of
// them failed or ctx has ended: what was measured before is no less true.
func Run(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	document := report.Document{Started: time.Now().UTC().Truncate(time.Second), Settings: options.settings(), Machine: machine()}
	l := newLog(options.Log)
	if busy := document.Machine.Busy(); busy != "" {
		l.say("warning: %s", busy)
	}
	subjects := options.subjects()
	rows, errs := make([][]report.Row, len(subjects)), make([]error, len(subjects))
	var running sync.WaitGroup
	turns := newTurns(len(subjects))
	for i, s := range subjects {
		running.Go(func() { rows[i], errs[i] = measureSubject(ctx, options, s, l.of(s.Name), turns[i]) })
	}
	running.Wait()
	var problems []error
	if ctx.Err() != nil {
		problems = append(problems, errors.New("interrupted"))
	}
	for i, s := range subjects {
		document.Rows = append(document.Rows, rows[i]...)
		err := errs[i]
		if ctx.Err() != nil {
			err = endOf(err)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(append(problems, write(options, document))...)
}

func machine() report.Machine {
	m := report.Machine{CPUs: runtime.NumCPU(), Load: report.Missing(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if load, err := procfs.Load(); err == nil {
		m.Load = report.Number(load)
	}
	return m
}

// endOf leaves out of an interrupted run's error what the interruption itself
// caused; what could not be cleaned up stays.
func endOf(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (o *Options) subjects() []*subject.Subject {
	all := []*subject.Subject{
		subject.FloorSubject(o.FloorRoot),
		subject.Ours(o.Image, o.ImageRoot, o.Deploy),
		subject.Rival(o.RivalRoot, o.RivalDeploy),
	}
	return slices.DeleteFunc(all, func(s *subject.Subject) bool { return !slices.Contains(o.Subjects, s.Name) })
}

func write(options Options, document report.Document) error {
	if len(document.Rows) == 0 {
		return nil
	}
	err := report.Table(options.Out, document.Rows)
	if busy := document.Machine.Busy(); busy != "" {
		_, _ = fmt.Fprintf(options.Out, "warning: %s\n", busy)
	}
	if options.JSON == "" {
		return err
	}
	file, createErr := os.Create(options.JSON)
	if createErr != nil {
		return errors.Join(err, fmt.Errorf("write the rows (--json): %w", createErr))
	}
	return errors.Join(err, report.JSON(file, document), file.Close())
}

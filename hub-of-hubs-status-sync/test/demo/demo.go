package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
)

// The hubs. Each sandbox has one managed cluster; that of the global hub has
// nothing to do.
const global = "global"

var leafHubs = []string{"leaf1", "leaf2"}

// Options set what the demonstration runs. Paths are relative to Top.
type Options struct {
	// Top is the project's directory.
	Top string
	// Image is the add-on's image.
	Image string
	// Once ends everything when all has been seen.
	Once bool
	// Metrics lets the programs serve their metrics.
	Metrics bool
	Out     io.Writer
	// Patience bounds the wait for each sight.
	Patience time.Duration
}

// demo is one run.
type demo struct {
	Options
	dir      string
	started  time.Time
	database *postgrestest.Server
	// owner, reader and writer are the database's URLs.
	owner, reader, writer string
	hubs                  map[string]*hub
	programs              []*program
	// metrics are the addresses of the programs' metrics, by hub.
	metrics map[string]string
}

// Run runs the demonstration. In every case nothing is left when it returns.
func Run(ctx context.Context, options Options) (err error) {
	// Sockets are in it, whose paths have to be short.
	dir, err := os.MkdirTemp("", "hoh")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	d := &demo{Options: options, dir: dir, started: time.Now(), hubs: map[string]*hub{}, metrics: map[string]string{}}
	defer func() { err = errors.Join(err, d.end()) }()
	err = d.show(ctx)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if d.Once || (err != nil && len(d.hubs) == 0) {
		return err
	}
	if err != nil {
		d.say("\nerror: %v", err)
	}
	d.say("\nEverything stays up: try the commands above. Ctrl-C ends it and removes its files.")
	<-ctx.Done()
	return err
}

func (d *demo) show(ctx context.Context) error {
	d.chapter("1. PostgreSQL, and three hubs with a managed cluster each, as processes of this machine")
	group, parallel := errgroup.WithContext(ctx)
	group.Go(func() error { return d.startDatabase(parallel) })
	group.Go(func() error { return d.startHubs(parallel) })
	if err := group.Wait(); err != nil {
		return err
	}
	d.chapter("2. The kinds and the rights of the programs; the add-on on both leaf hubs")
	if err := d.install(ctx); err != nil {
		return err
	}
	d.chapter("3. hub-of-hubs-status-report on each leaf hub, hub-of-hubs-status-sync on the global hub")
	if err := d.startPrograms(ctx); err != nil {
		return err
	}
	if err := d.addOnTravels(ctx); err != nil {
		return err
	}
	if err := d.policyTravels(ctx); err != nil {
		return err
	}
	d.look()
	return nil
}

func (d *demo) startDatabase(ctx context.Context) (err error) {
	if d.database, err = postgrestest.Start(ctx, postgrestest.Options{}); err != nil {
		return err
	}
	if d.owner, _, err = d.database.NewDatabase(ctx); err != nil {
		return err
	}
	migrate := d.command(ctx, "hub-of-hubs-status-sync/bin/hub-of-hubs-status-sync", "migrate")
	migrate.Env = append(os.Environ(), "DATABASE_URL="+d.owner)
	if err := d.run(migrate); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	if d.reader, err = d.database.NewUser(ctx, d.owner, "hub_of_hubs_status_reader"); err != nil {
		return err
	}
	d.writer, err = d.database.NewUser(ctx, d.owner, "hub_of_hubs_status_writer")
	return err
}

// startHubs starts the sandboxes one after the other: on two cores that is no
// slower than all at once, and each is surer to be in time.
func (d *demo) startHubs(ctx context.Context) error {
	for _, name := range append([]string{global}, leafHubs...) {
		h := &hub{name: name, dir: filepath.Join(d.dir, name)}
		d.hubs[name] = h
		if err := d.run(d.sandbox(ctx, h, "up", "--clusters=1", "--image="+d.Image+"="+filepath.Join(d.Top, "bin/image"))); err != nil {
			return fmt.Errorf("start the sandbox of %s: %w", name, err)
		}
		if err := h.connect(); err != nil {
			return err
		}
		d.say("   %-8s up", name)
	}
	return nil
}

// end stops what runs: clients before servers.
func (d *demo) end() error {
	var errs []error
	for _, p := range d.programs {
		errs = append(errs, p.stop())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for _, h := range d.hubs {
		if err := d.run(d.sandbox(ctx, h, "down")); err != nil {
			errs = append(errs, fmt.Errorf("end the sandbox in %s: %w", h.dir, err))
		}
	}
	if d.database != nil {
		errs = append(errs, d.database.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(d.dir)
}

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest/original"
	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/postgres"
)

// bench is a run.
type bench struct {
	options *Options
	table   *table
	server  *postgrestest.Server
	hub     *globalHub
	// owner, reader and writer are URLs of the database.
	owner, reader, writer string
	conn                  *pgx.Conn
	store                 *postgres.Store
	rows                  *rows
	watcher               *watcher
	sync                  *syncProgram
	loadRate, flipRate    float64
}

// settings are those of a small database in earnest: what is committed is on the disk.
var settings = map[string]string{
	"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
	"shared_buffers": "1GB", "max_wal_size": "4GB", "work_mem": "64MB", "maintenance_work_mem": "1GB", "checkpoint_timeout": "15min",
}

// Run measures and prints. What it has measured when it fails it prints, too.
func Run(ctx context.Context, options Options, out io.Writer) (err error) {
	if err := options.validate(); err != nil {
		return err
	}
	options.Copy = options.Copy || options.unmigrated()
	b := &bench{options: &options, table: &table{progress: os.Stderr}}
	defer func() { err = errors.Join(err, b.stop(), b.table.write(out), b.saveFigures()) }()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	b.describe(strings.Fields(string(load))[0])
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, step := range b.steps(cancel) {
		if err := step(ctx); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
	return nil
}

// describe adds what is measured and the machine's load.
func (b *bench) describe(load string) {
	o := b.options
	if o.AddOns > 0 {
		b.table.figure("rows", float64(o.AddOns))
		b.table.add("size", "%d hubs x %d clusters with the add-on; load of the machine before: %s", o.Hubs, o.AddOns/o.Hubs, load)
		return
	}
	b.table.figure("rows", float64(o.rows()))
	b.table.add("size", "%d hubs x %d clusters x %d policies = %d rows; load of the machine before: %s",
		o.Hubs, o.Clusters, o.Policies, o.rows(), load)
}

// steps returns what is run, in this order.
func (b *bench) steps(cancel context.CancelCauseFunc) []func(context.Context) error {
	switch {
	case b.options.AddOns > 0:
		return []func(context.Context) error{b.start, b.loadAddOns, b.watch(cancel, addOnSummaries), b.first, b.oneAddOn}
	case b.options.Original:
		return []func(context.Context) error{b.start, b.load, b.watch(cancel, policies), b.first, b.scans, b.endSync, b.originalScan}
	case b.options.Move:
		return []func(context.Context) error{b.start, b.load, b.watch(cancel, policies), b.first, b.move}
	default:
		return []func(context.Context) error{b.start, b.load, b.watch(cancel, policies), b.first, b.oneRow, b.oneHub, b.many, b.idle,
			b.endSync, b.known}
	}
}

// endSync ends the status sync, so that it does not read beside what is measured next.
func (b *bench) endSync(context.Context) error {
	b.sync.stop()
	b.sync = nil
	return nil
}

func (b *bench) saveFigures() error {
	if b.options.JSON == "" {
		return nil
	}
	return b.table.save(b.options.JSON)
}

func (b *bench) stop() error {
	if b.sync != nil {
		b.sync.stop()
	}
	if b.store != nil {
		b.store.Close()
	}
	var errs []error
	if b.hub != nil {
		errs = append(errs, b.hub.stop())
	}
	if b.server != nil {
		errs = append(errs, b.server.Stop())
	}
	return errors.Join(errs...)
}

func (b *bench) start(ctx context.Context) (err error) {
	if b.server, err = postgrestest.Start(ctx, postgrestest.Options{Dir: b.options.Dir, Settings: settings}); err != nil {
		return err
	}
	if b.owner, _, err = b.server.NewDatabase(ctx); err != nil {
		return err
	}
	if err := b.createTables(ctx); err != nil {
		return err
	}
	if b.conn, err = pgx.Connect(ctx, b.owner); err != nil {
		return err
	}
	if b.hub, err = startHub(ctx, b.options); err != nil {
		return err
	}
	if b.options.AddOns > 0 {
		return nil
	}
	return b.createPolicies(ctx)
}

// createTables migrates the database, or creates the original's schema, with the users of each.
func (b *bench) createTables(ctx context.Context) (err error) {
	if b.options.unmigrated() {
		if err := original.Create(ctx, b.server, b.owner); err != nil {
			return err
		}
		b.reader, err = b.server.NewUser(ctx, b.owner, original.ProcessUser)
		return err
	}
	if err := postgres.Migrate(ctx, b.owner); err != nil {
		return err
	}
	if b.reader, err = b.server.NewUser(ctx, b.owner, "hub_of_hubs_status_reader"); err != nil {
		return err
	}
	if b.writer, err = b.server.NewUser(ctx, b.owner, "hub_of_hubs_status_writer"); err != nil {
		return err
	}
	b.store, err = postgres.Open(ctx, postgres.Options{URL: b.writer, QueryTimeout: b.options.Patience})
	return err
}

// createPolicies creates the Policies and their rows in spec.policies.
func (b *bench) createPolicies(ctx context.Context) error {
	ids, names := make([]string, b.options.Policies), make([]string, b.options.Policies)
	for i := range ids {
		names[i] = fmt.Sprintf("policy%d", i)
		object, err := b.hub.policy(ctx, names[i])
		if err != nil {
			return err
		}
		ids[i] = string(object.GetUID())
		payload, err := json.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := b.conn.Exec(ctx, "INSERT INTO spec.policies (id, payload) VALUES ($1, $2)", ids[i], string(payload)); err != nil {
			return err
		}
	}
	b.rows = newRows(b.options, ids, names)
	return nil
}

// watch starts the watch; when it breaks, the run ends.
func (b *bench) watch(cancel context.CancelCauseFunc, what watched) func(context.Context) error {
	return func(ctx context.Context) error {
		watcher, ended, err := watch(ctx, b.hub.config, what)
		if err != nil {
			return err
		}
		b.watcher = watcher
		go func() { cancel(<-ended) }()
		return nil
	}
}

// first starts the status sync.
func (b *bench) first(ctx context.Context) error {
	kubeconfig, err := b.hub.kubeconfig()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return err
	}
	before, err := b.work()
	if err != nil {
		return err
	}
	start := time.Now()
	if b.sync, err = startSync(ctx, b.options, kubeconfig, b.reader, b.hub.dir, port); err != nil {
		return err
	}
	last, err := b.await(ctx)
	if err != nil {
		return err
	}
	spent, err := b.since(before)
	if err != nil {
		return err
	}
	b.table.add("(a) first sync, from the program's start until all CRs are right", "%s; %s", round(last.Sub(start)), spent)
	b.table.figure("firstSyncSeconds", last.Sub(start).Seconds())
	return nil
}

func (b *bench) await(ctx context.Context) (time.Time, error) {
	return b.awaitOnly(ctx, b.rows.expected)
}

// awaitOnly waits for the objects that expected names.
func (b *bench) awaitOnly(ctx context.Context, expected map[string]int) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Patience, fmt.Errorf("nothing came within %s", b.options.Patience))
	defer cancel()
	return b.watcher.await(ctx, expected)
}

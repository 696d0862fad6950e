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
	b := &bench{options: &options, table: &table{progress: os.Stderr}}
	defer func() { err = errors.Join(err, b.stop(), b.table.write(out), b.saveFigures()) }()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	b.table.figure("rows", float64(options.rows()))
	b.table.add("size", "%d hubs x %d clusters x %d policies = %d rows; load of the machine before: %s",
		options.Hubs, options.Clusters, options.Policies, options.rows(), strings.Fields(string(load))[0])
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, step := range []func(context.Context) error{b.start, b.load, b.watch(cancel), b.first, b.oneRow, b.oneHub, b.many, b.idle} {
		if err := step(ctx); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
	b.sync.stop()
	b.sync = nil
	return b.known(ctx)
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
	if err := postgres.Migrate(ctx, b.owner); err != nil {
		return err
	}
	if b.reader, err = b.server.NewUser(ctx, b.owner, "hub_of_hubs_status_reader"); err != nil {
		return err
	}
	if b.writer, err = b.server.NewUser(ctx, b.owner, "hub_of_hubs_status_writer"); err != nil {
		return err
	}
	if b.store, err = postgres.Open(ctx, postgres.Options{URL: b.writer, QueryTimeout: b.options.Patience}); err != nil {
		return err
	}
	if b.conn, err = pgx.Connect(ctx, b.owner); err != nil {
		return err
	}
	if b.hub, err = startHub(ctx, b.options); err != nil {
		return err
	}
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
func (b *bench) watch(cancel context.CancelCauseFunc) func(context.Context) error {
	return func(ctx context.Context) error {
		watcher, ended, err := watch(ctx, b.hub.config)
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
	ctx, cancel := context.WithTimeoutCause(ctx, b.options.Patience, fmt.Errorf("nothing came within %s", b.options.Patience))
	defer cancel()
	return b.watcher.await(ctx, b.rows.expected)
}

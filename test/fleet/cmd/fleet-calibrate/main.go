// Command fleet-calibrate compares simulated managed clusters of a sandbox with real ones,
// by the requests that its hub gets because of them: see test/fleet/README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/test/fleet/calibrate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// recorded is a run as it is saved, beside the audit log.
type recorded struct {
	Clusters calibrate.Clusters `json:"clusters"`
	Phases   []calibrate.Phase  `json:"phases"`
}

// The names of what is saved.
const (
	runFile = "run.json"
	logFile = "audit.log"
)

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fleet-calibrate", flag.ContinueOnError)
	n := flags.Int("clusters", 1, "number of real clusters, and of simulated ones, of the sandbox")
	dir := flags.String("dir", ".sandbox", "directory of the running sandbox, which was started with --audit")
	idle := flags.Duration("idle", calibrate.DefaultIdle, "duration of the idle phase")
	save := flags.String("save", "artifacts/calibrate", "directory to save the run in, for --from")
	from := flags.String("from", "", "compare a saved run instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *from != "" {
		return compare(*from, os.Stdout)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(*dir, "hub.kubeconfig"))
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the hub: %w", err)
	}
	config.QPS = -1
	hub, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	run := recorded{Clusters: clusters(*n)}
	scenario := calibrate.Scenario{Hub: hub, Clusters: run.Clusters, Idle: *idle, Out: os.Stdout}
	if run.Phases, err = scenario.Run(ctx); err != nil {
		return err
	}
	if err := keep(run, filepath.Join(*dir, "hub", "logs"), *save); err != nil {
		return err
	}
	return compare(*save, os.Stdout)
}

// clusters returns the names of n clusters of each kind.
func clusters(n int) calibrate.Clusters {
	var c calibrate.Clusters
	for i := range n {
		c.Real = append(c.Real, fmt.Sprintf("cluster%d", i+1))
		c.Simulated = append(c.Simulated, fleet.Name(i+1))
	}
	return c
}

// keep saves a run. The API server renames its log when it is large.
func keep(run recorded, logs, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create a directory for the run: %w", err)
	}
	if err := fleet.Write(filepath.Join(dir, runFile), run); err != nil {
		return err
	}
	parts, err := filepath.Glob(filepath.Join(logs, "audit-*.log"))
	if err != nil {
		return fmt.Errorf("list the audit logs: %w", err)
	}
	slices.Sort(parts)
	var all []byte
	for _, part := range append(parts, filepath.Join(logs, logFile)) {
		content, err := os.ReadFile(part)
		if err != nil {
			return fmt.Errorf("read the audit log, for which the sandbox needs --audit: %w", err)
		}
		all = append(all, content...)
	}
	return fleet.Replace(filepath.Join(dir, logFile), all)
}

// compare writes the table of a saved run, and returns an error if the clusters differ.
func compare(dir string, out io.Writer) error {
	content, err := os.ReadFile(filepath.Join(dir, runFile))
	if err != nil {
		return fmt.Errorf("read a run: %w", err)
	}
	var run recorded
	if err := json.Unmarshal(content, &run); err != nil {
		return fmt.Errorf("parse %s: %w", filepath.Join(dir, runFile), err)
	}
	log, err := os.Open(filepath.Join(dir, logFile))
	if err != nil {
		return fmt.Errorf("read a run: %w", err)
	}
	defer func() { _ = log.Close() }()
	requests, err := calibrate.ReadLog(log)
	if err != nil {
		return err
	}
	rows := calibrate.Compare(requests, run.Phases, run.Clusters)
	fmt.Fprintf(out, "\nRequests per cluster, %d real and %d simulated\n\n", len(run.Clusters.Real), len(run.Clusters.Simulated))
	calibrate.WriteTable(out, rows)
	if failed := calibrate.Failed(rows); len(failed) > 0 {
		return fmt.Errorf("%d kinds of requests differ between real and simulated clusters", len(failed))
	}
	return nil
}

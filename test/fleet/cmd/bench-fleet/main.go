// Command bench-fleet measures the add-on on a fleet of simulated managed clusters, and writes the figures
// as JSON: see docs/fleet.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"open-cluster-management.io/helloworld-addon/test/fleet/bench"
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

func run(ctx context.Context, args []string) error {
	options := bench.Options{Out: os.Stdout}
	flags := flag.NewFlagSet("bench-fleet", flag.ContinueOnError)
	flags.IntVar(&options.Clusters, "clusters", 500, "number of simulated managed clusters")
	steps := flags.String("steps", "", "comma-separated names of the steps to run: join, enable, idle, change, restart, rollout, rotate, turnover, distribute (default: all)")
	quick := flags.Bool("quick", false, "short waits, to see that everything works and about how fast")
	smoke := flags.Bool("smoke", false, "the shortest waits, for a test with few clusters, without the rival")
	life := flags.Duration("certificate-life", 0, "life of the certificates of the step rotate (default 30m, 4m with --smoke)")
	up := flags.String("up-flags", "", "further flags of ocm-sandbox up, such as --hub-qps=0")
	flags.IntVar(&options.EnableOn, "enable-on", 0, "number of clusters on which step 2 enables the add-on, with --steps=join,enable (default: all)")
	flags.DurationVar(&options.Lease, "lease", 0, "period of the clusters' leases (default: OCM's, a minute)")
	sandbox := flags.String("sandbox", "bin/ocm-sandbox --programs=bin/sandbox --module=sandbox/programs", "ocm-sandbox with the flags that it always gets")
	flags.StringVar(&options.Agents, "agents", "bin/fleet-agents", "the program of the add-on's agents")
	flags.StringVar(&options.Controller, "controller", "bin/helloworld-controller", "the add-on's controller")
	flags.StringVar(&options.ReplicaSets, "replicaset-controller", "bin/helloworld-replicaset-controller", "the controller of ConfigMapReplicaSets")
	flags.StringVar(&options.Deploy, "deploy", "deploy", "directory with the controllers' manifests")
	flags.StringVar(&options.Rival, "rival", "", "the controller of addon-framework's example (default: it is not measured)")
	flags.StringVar(&options.RivalManifests, "rival-manifests", "", "directory with the rival's manifests")
	flags.StringVar(&options.Module, "module", "sandbox/programs", "directory of the go.mod with OCM's version")
	flags.StringVar(&options.Root, "root", ".", "directory of the repository")
	flags.StringVar(&options.Version, "version", "", "the add-on's version, for the record")
	flags.StringVar(&options.JSON, "json", "", "file for the figures (default artifacts/fleet-CLUSTERS.json, or fleet-CLUSTERS-STEPS.json with --steps)")
	flags.StringVar(&options.Command, "command", strings.Join(os.Args, " "), "the command line, for the record")
	flags.BoolVar(&options.Keep, "keep", false, "keep the logs when a step fails")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	options.Sandbox, options.UpFlags = strings.Fields(*sandbox), strings.Fields(*up)
	if *steps != "" {
		options.Steps = strings.Split(*steps, ",")
	}
	if options.JSON == "" {
		options.JSON = filepath.Join("artifacts", nameOf(options)+".json")
	}
	options.Times = bench.Full(options.Clusters)
	switch {
	case *smoke:
		options.Times, options.Rival = bench.Smoke(options.Clusters), ""
	case *quick:
		options.Times = bench.Quick(options.Clusters)
	}
	if *life > 0 {
		options.Times.CertificateLife = *life
	}
	return bench.Run(ctx, options)
}

// nameOf returns the name of the file. A run of some steps, on a part of the clusters or with other leases does not replace the
// figures of one without.
func nameOf(o bench.Options) string {
	name := fmt.Sprintf("fleet-%d", o.Clusters)
	if len(o.Steps) > 0 {
		name += "-" + strings.Join(o.Steps, "-")
	}
	if o.EnableOn > 0 {
		name += fmt.Sprintf("-on-%d", o.EnableOn)
	}
	if o.Lease > 0 {
		name += "-lease-" + o.Lease.String()
	}
	return name
}

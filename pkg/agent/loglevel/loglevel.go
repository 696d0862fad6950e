// Package loglevel has the flag for the log level of the programs that run on a
// managed cluster. These programs read Secrets, which no log may have.
package loglevel

import (
	"context"
	"flag"
	"fmt"
	"strconv"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Max is the highest log level in use.
const Max = manifests.MaxLogVerbosity

// Flag returns klog's flag for the log level. There is none for vmodule, which
// sets the level of single files, for example of client-go's that log bodies.
func Flag() *flag.Flag {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	level := all.Lookup(manifests.FlagVerbosity)
	level.Usage = fmt.Sprintf("number for the log level verbosity, at most %d", Max)
	return level
}

// Cap lowers a log level above Max, and logs that. It is called after the flags
// are parsed.
func Cap(ctx context.Context) error {
	level := Flag().Value
	asked, err := strconv.Atoi(level.String())
	if err != nil || asked <= Max {
		return err
	}
	if err := level.Set(strconv.Itoa(Max)); err != nil {
		return fmt.Errorf("--%s: %w", manifests.FlagVerbosity, err)
	}
	klog.FromContext(ctx).Info("Lowered the log level: above it the log would have the bodies of requests, with secrets in them",
		"asked", asked, "level", Max)
	return nil
}

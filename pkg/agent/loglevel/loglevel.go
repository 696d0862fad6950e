// Package loglevel holds the flag for the log level of the programs on a managed
// cluster. These programs read Secrets, which must not appear in a log.
package loglevel

import (
	"context"
	"flag"
	"fmt"
	"strconv"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Max is the highest log level.
const Max = manifests.MaxLogVerbosity

// Flag returns klog's flag for the log level. There is no flag for vmodule: it sets the
// level of single files, for example of the file of client-go that logs bodies.
func Flag() *flag.Flag {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	level := all.Lookup(manifests.FlagVerbosity)
	level.Usage = fmt.Sprintf("Log level, at most %d.", Max)
	return level
}

// Cap lowers a log level above Max and logs that. Call it after the flags are parsed.
func Cap(ctx context.Context) error {
	level := Flag().Value
	asked, err := strconv.Atoi(level.String())
	if err != nil || asked <= Max {
		return err
	}
	if err := level.Set(strconv.Itoa(Max)); err != nil {
		return fmt.Errorf("--%s: %w", manifests.FlagVerbosity, err)
	}
	klog.FromContext(ctx).Info("Lowered the log level to keep Secrets out of the log",
		"asked", asked, "level", Max)
	return nil
}

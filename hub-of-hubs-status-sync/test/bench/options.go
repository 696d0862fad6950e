package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// Options set how much is measured.
type Options struct {
	Hubs, Clusters, Policies int
	// FlipRows are flipped at once; 0: all rows of one hub alone.
	FlipRows int
	// Flips is how often one row is flipped.
	Flips int
	// Writers is how many leaf hubs write at once.
	Writers int
	Idle    time.Duration
	// KnownUpdates is how many rows are updated one by one; a hundredth of them where a trigger of the known kind runs.
	KnownUpdates int
	// Top is the project's directory, Sync the program, Programs where etcd and kube-apiserver are, Dir where the
	// database is made.
	Top, Sync, Programs, Dir string
	// AddOns measures that many add-ons instead of policies; Original a database that was not migrated; Move its migration
	// under load.
	AddOns         int
	Original, Move bool
	// Copy loads the rows by COPY, as an administrator would, instead of by the reporter's way of writing.
	Copy bool
	// MaxDisk ends the load when the database's directory has that many bytes, what is written ahead included.
	MaxDisk int64
	// JSON is a file for the figures; empty: none.
	JSON string
	// Patience is how long to wait for anything.
	Patience time.Duration
}

// Defaults are the sizes of the largest table.
func Defaults() Options {
	return Options{Hubs: 100, Clusters: 1000, Policies: 100, FlipRows: 135_000, Flips: 50, Writers: 2, Idle: time.Minute,
		KnownUpdates: 2000, Top: ".", Sync: "hub-of-hubs-status-sync/bin/hub-of-hubs-status-sync", Programs: "bin/sandbox", Dir: os.TempDir(),
		MaxDisk: 30 << 30, Patience: 20 * time.Minute}
}

// AddFlags adds a flag for each option.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Hubs, "hubs", o.Hubs, "leaf hubs")
	flags.IntVar(&o.Clusters, "clusters", o.Clusters, "clusters of each hub")
	flags.IntVar(&o.Policies, "policies", o.Policies, "policies, each on every cluster")
	flags.IntVar(&o.FlipRows, "flip-rows", o.FlipRows, "rows to flip at once, besides those of one hub; 0: none")
	flags.IntVar(&o.Flips, "flips", o.Flips, "how often to flip one row")
	flags.IntVar(&o.Writers, "writers", o.Writers, "leaf hubs that write at once")
	flags.DurationVar(&o.Idle, "idle", o.Idle, "how long to look at the idle system")
	flags.IntVar(&o.KnownUpdates, "known-updates", o.KnownUpdates, "rows to update one by one, the known way")
	flags.StringVar(&o.Top, "top", o.Top, "the project's directory")
	flags.StringVar(&o.Sync, "sync", o.Sync, "the program hub-of-hubs-status-sync")
	flags.StringVar(&o.Programs, "programs", o.Programs, "the directory of etcd and kube-apiserver")
	flags.StringVar(&o.Dir, "dir", o.Dir, "where to make the database")
	flags.IntVar(&o.AddOns, "addons", o.AddOns, "measure add-ons on that many clusters instead of policies")
	flags.BoolVar(&o.Original, "original", o.Original, "measure the scan of a database that was not migrated instead")
	flags.BoolVar(&o.Move, "move", o.Move, "measure the migration of such a database under load instead")
	flags.BoolVar(&o.Copy, "copy", o.Copy, "load by COPY instead of by the reporter's way of writing")
	flags.Int64Var(&o.MaxDisk, "max-disk", o.MaxDisk, "stop loading when the database's directory has that many bytes")
	flags.StringVar(&o.JSON, "json", o.JSON, "a file to write the figures to, too")
	flags.DurationVar(&o.Patience, "patience", o.Patience, "how long to wait for anything")
}

func (o *Options) validate() error {
	var errs []error
	for _, size := range []struct {
		name         string
		value, least int
	}{
		{"--hubs", o.Hubs, 1}, {"--clusters", o.Clusters, 1}, {"--policies", o.Policies, 1}, {"--flip-rows", o.FlipRows, 0},
		{"--flips", o.Flips, 1}, {"--writers", o.Writers, 1}, {"--known-updates", o.KnownUpdates, 100}, {"--addons", o.AddOns, 0},
	} {
		if size.value < size.least {
			errs = append(errs, fmt.Errorf("%s=%d must be %d or more", size.name, size.value, size.least))
		}
	}
	if o.Idle < time.Second {
		errs = append(errs, fmt.Errorf("--idle=%s must be 1s or more", o.Idle))
	}
	return errors.Join(append(errs, o.validateModes()...)...)
}

// validateModes returns what is wrong with what replaces the usual measurements.
func (o *Options) validateModes() (errs []error) {
	if o.AddOns > 0 && (o.Hubs < 2 || o.AddOns < o.Hubs*badEvery) {
		errs = append(errs, fmt.Errorf("--addons=%d needs 2 hubs or more, with %d clusters each or more", o.AddOns, badEvery))
	}
	if o.Move && (o.Hubs < moveWriters || o.Policies < 2) {
		errs = append(errs, fmt.Errorf("--move needs %d hubs and 2 policies or more", moveWriters))
	}
	if o.AddOns > 0 && o.Original || o.AddOns > 0 && o.Move || o.Original && o.Move {
		errs = append(errs, errors.New("--addons, --original and --move exclude each other"))
	}
	return errs
}

// unmigrated reports whether the run begins with a database of the original hub of hubs.
func (o *Options) unmigrated() bool { return o.Original || o.Move }

func (o *Options) rows() int { return o.Hubs * o.Clusters * o.Policies }

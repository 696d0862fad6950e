package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"open-cluster-management.io/helloworld-addon/sandbox/control"
	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/images/goimage"
	"open-cluster-management.io/helloworld-addon/sandbox/images/unpack"
	"open-cluster-management.io/helloworld-addon/sandbox/launcher"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

func imageCommand(options *launcher.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image IMAGE=DIRECTORY",
		Short: "Add an image to a running sandbox",
		Long: `Map an image to a directory with its root file system. Without a tag IMAGE means all its tags and
digests. The commands below add images of other kinds. All replace an image of the same name, and
containers that run keep the files that they started with.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return err
			}
			_, _, err := images.Parse(args[0])
			return err
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name, dir, err := images.Parse(args[0])
			if err != nil {
				return err
			}
			store, err := imageStore(options)
			if err != nil {
				return err
			}
			if err := store.Add(name, dir); err != nil {
				return err
			}
			_, err = fmt.Fprintf(options.Out, "%s: %s\n", name, dir)
			return err
		},
	}
	cmd.AddCommand(imageListCommand(options), imageLoadCommand(options), imageGoCommand(options), imagePullCommand(options))
	return cmd
}

// imageStore returns the images of a sandbox.
func imageStore(options *launcher.Options) (images.Store, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return images.Store{}, fmt.Errorf("--dir=%s: %w", options.Dir, err)
	}
	if _, err := statedir.Read(dir); err != nil {
		return images.Store{}, fmt.Errorf("no sandbox in %s: start one with ocm-sandbox up (%w)", dir, err)
	}
	return images.In(dir), nil
}

func imageListCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the images and their directories",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := imageStore(options)
			if err != nil {
				return err
			}
			all, err := store.All()
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(options.Out, 0, 0, 2, ' ', 0)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if _, err := fmt.Fprintf(table, "%s\t%s\n", name, all[name].Dir); err != nil {
					return fmt.Errorf("list the images: %w", err)
				}
			}
			return table.Flush()
		},
	}
}

func imageLoadCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "load [IMAGE] ARCHIVE",
		Short: "Add the images of an archive, made by docker save or in the OCI layout",
		Long: `Add the images of an archive: a tar file, also one in gzip or zstd, or a directory, made by
docker save or in the OCI layout. An archive with one image may get another name. For example:

  docker save example.com/app:v1 | gzip > app.tar.gz && ocm-sandbox image load app.tar.gz`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := imageStore(options)
			if err != nil {
				return err
			}
			name := ""
			if len(args) == 2 {
				name = args[0]
			}
			names, err := unpack.Load(cmd.Context(), store, args[len(args)-1], name, unpack.DefaultLimits)
			if err != nil {
				return err
			}
			return printAdded(options, store, names...)
		},
	}
}

func imageGoCommand(options *launcher.Options) *cobra.Command {
	reload, timeout := false, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "go [--reload] IMAGE PACKAGE [-- FLAG...]",
		Short: "Build a Go program into an image, without a Dockerfile",
		Long: `Build the program of a Go package, in the module of the working directory, into an image that runs
it as user 65532. What follows -- are flags of go build. A second time replaces the image. For example:

  ocm-sandbox image go example.com/app:v1 ./cmd/app --reload -- -ldflags=-X=main.version=v1`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if args, _ := splitAtDash(cmd, args); len(args) != 2 {
				return fmt.Errorf("give an image's name and a Go package, and flags of go build after --, not %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args, flags := splitAtDash(cmd, args)
			if err := unpack.CheckName(args[0]); err != nil {
				return err
			}
			store, err := imageStore(options)
			if err != nil {
				return err
			}
			err = goimage.Build(cmd.Context(), store, goimage.Options{Image: args[0], Package: args[1], Flags: flags, Log: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			if err := printAdded(options, store, args[0]); err != nil || !reload {
				return err
			}
			return reloadImage(cmd.Context(), options, args[0], timeout)
		},
	}
	cmd.Flags().BoolVar(&reload, "reload", false, "restart the pods that use the image, as the command reload")
	addReloadTimeout(cmd, &timeout)
	return cmd
}

// splitAtDash returns the arguments before and after --.
func splitAtDash(cmd *cobra.Command, args []string) (before, after []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

func imagePullCommand(options *launcher.Options) *cobra.Command {
	return &cobra.Command{
		Use:   "pull IMAGE",
		Short: "Add an image of a registry, with the credentials of Docker's configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := imageStore(options)
			if err != nil {
				return err
			}
			name, err := unpack.Pull(cmd.Context(), store, args[0], unpack.DefaultLimits)
			if err != nil {
				return err
			}
			return printAdded(options, store, name)
		},
	}
}

func reloadCommand(options *launcher.Options) *cobra.Command {
	timeout := time.Duration(0)
	cmd := &cobra.Command{
		Use:   "reload IMAGE",
		Short: "Delete the pods that use an image, and wait until the new ones are ready",
		Long: `Delete the pods of all clusters that use an image, and wait until their controllers have created
as many new ones, which are ready and stay so for a second. Without a tag IMAGE means all its tags
and digests. When containers of new pods end, the error has the end of the log of one of each name,
or the lines around the message of a panic.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reloadImage(cmd.Context(), options, args[0], timeout)
		},
	}
	addReloadTimeout(cmd, &timeout)
	return cmd
}

func addReloadTimeout(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", 2*time.Minute, "how long to wait for the new pods")
}

func reloadImage(ctx context.Context, options *launcher.Options, image string, timeout time.Duration) error {
	sandbox, err := control.Open(options.Dir)
	if err != nil {
		return err
	}
	count, err := sandbox.Reload(ctx, image, timeout)
	_, printErr := fmt.Fprint(options.Out, reloaded(image, count, err != nil))
	return errors.Join(err, printErr)
}

// reloaded describes a reload that deleted count pods. It is empty if there is nothing to add to the error of one that failed.
func reloaded(image string, count int, failed bool) string {
	switch {
	case failed && count == 0:
		return ""
	case failed:
		return fmt.Sprintf("%s: %s deleted\n", image, pods(count))
	case count == 0:
		return fmt.Sprintf("%s: no pod uses this image, so none was restarted\n", image)
	}
	return fmt.Sprintf("%s: %s restarted\n", image, pods(count))
}

func pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}

// printAdded prints the images as the list does.
func printAdded(options *launcher.Options, store images.Store, names ...string) error {
	for _, name := range names {
		added, _, err := store.Resolve(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(options.Out, "%s: %s\n", name, added.Dir); err != nil {
			return fmt.Errorf("print an image: %w", err)
		}
	}
	return nil
}
